# Prototype classifier: one learned vector per class
import torch
from torch import nn


class Prototypes(nn.Module):
    def __init__(self, d, classes):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(d, 24), nn.Tanh(), nn.Linear(24, 6))
        self.centres = nn.ParameterList([nn.Parameter(torch.randn(6)) for _ in range(classes)])
        self.bias = nn.Parameter(torch.zeros(classes))

    def forward(self, x):
        z = self.embed(x)
        return torch.stack([-(z - c).pow(2).sum(1) for c in self.centres], 1) + self.bias


torch.manual_seed(3)
y = torch.randint(0, 4, (400,))
x = torch.randn(4, 8)[y] * 2 + torch.randn(400, 8)
model = Prototypes(8, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(8):
    for rows in torch.randperm(400).split(50):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
