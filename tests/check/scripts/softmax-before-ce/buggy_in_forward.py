"""A classifier that returns probabilities, trained with cross entropy."""

import torch
from torch import nn
from torch.nn import functional as F


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(10, 16)
        self.out = nn.Linear(16, 4)

    def forward(self, x):
        x = F.relu(self.hidden(x))
        return F.softmax(self.out(x), dim=1)  # <- finding


torch.manual_seed(0)
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
x, y = torch.randn(32, 10), torch.randint(0, 4, (32,))
for _ in range(5):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
