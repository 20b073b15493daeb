"""The head is replaced after the optimizer was created."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Linear(6, 12)
        self.fc = nn.Linear(12, classes)

    def forward(self, x):
        return self.fc(torch.relu(self.features(x)))


torch.manual_seed(0)
model = Net(10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
model.fc = nn.Linear(12, 3)  # <- finding
for _ in range(5):
    x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
print(loss.item())
