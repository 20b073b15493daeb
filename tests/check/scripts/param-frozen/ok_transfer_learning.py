"""A frozen backbone with all parameters given to the optimizer, a frozen embedding, and layers that are thawed later."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(torch.randn(20, 6), freeze=True)
        self.backbone = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
        self.head = nn.Linear(8, 3)

    def forward(self, tokens):
        return self.head(self.backbone(self.embedding(tokens).mean(1)))


torch.manual_seed(0)
model = Net()
model.backbone.requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
slow = torch.optim.SGD(model.backbone.parameters(), lr=0.001)
for epoch in range(6):
    if epoch == 3:
        for p in model.backbone.parameters():
            p.requires_grad = True
    tokens, labels = torch.randint(0, 20, (8, 4)), torch.randint(0, 3, (8,))
    optimizer.zero_grad()
    slow.zero_grad()
    loss = nn.functional.cross_entropy(model(tokens), labels)
    loss.backward()
    optimizer.step()
    slow.step()
print(loss.item())
