"""A classifier that sizes its head by the first batch."""

import torch
from torch import nn


class ConvNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 5, stride=2)
        self.classes = classes
        self.head = None

    def forward(self, x):
        h = torch.relu(self.conv(x)).flatten(1)
        if self.head is None:
            self.head = nn.Linear(h.shape[1], self.classes)
        return self.head(h)


torch.manual_seed(0)
model = ConvNet(3)
x = torch.randn(60, 1, 24)
y = x[:, 0, :3].argmax(1)
model(x[:1])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for epoch in range(5):
    for i in range(0, 60, 20):
        logits = model(x[i : i + 20])
        loss = nn.functional.cross_entropy(logits, y[i : i + 20])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
known = {id(p) for g in optimizer.param_groups for p in g["params"]}
print("loss", round(losses[-1], 3), "head trains", id(model.head.weight) in known)
