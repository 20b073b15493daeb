# Set transformer from memory: predicts the maximum of a set
import torch
from torch import nn


class SetAttention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.to_q = nn.Linear(d, d, bias=False)
        self.to_k = nn.Linear(d, d, bias=False)
        self.to_v = nn.Linear(d, d, bias=False)

    def forward(self, x):
        q = self.to_q(x)
        k = self.to_k(x)
        v = self.to_v(x)
        a = torch.softmax(q @ k.mT / x.shape[-1] ** 0.5, -1)
        return x + a @ v


torch.manual_seed(11)
sets = torch.rand(500, 7, 1)
biggest = sets.amax(1)
model = nn.Sequential(nn.Linear(1, 16), SetAttention(16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    for rows in torch.randperm(500).split(50):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(sets[rows]).mean(1), biggest[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
