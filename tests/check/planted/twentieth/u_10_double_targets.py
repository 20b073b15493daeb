"""Surrogate of a simulator: targets come from NumPy in double precision."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def simulate(theta):
    a, b = theta[:, 0], theta[:, 1]
    return np.stack([np.sin(a) * b, a * a - b, np.exp(-b * b)], axis=1)


class Simulations(Dataset):
    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        self.theta = rng.uniform(-1, 1, size=(n, 2))
        self.result = simulate(self.theta)

    def __len__(self):
        return len(self.theta)

    def __getitem__(self, i):
        inputs = torch.as_tensor(self.theta[i], dtype=torch.float32)
        target = torch.as_tensor(self.result[i])  # BUG device-dtype-mixed
        return inputs, target


class Surrogate(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.a = nn.Linear(2, width)
        self.b = nn.Linear(width, width)
        self.c = nn.Linear(width, 3)

    def forward(self, theta):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(theta)))))


def huber(residual, delta=0.5):
    absolute = residual.abs()
    return torch.where(absolute < delta, 0.5 * residual ** 2, delta * (absolute - 0.5 * delta)).mean()


torch.manual_seed(0)
loader = DataLoader(Simulations(320, 1), batch_size=40, shuffle=True)
model = Surrogate()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(3):
    for inputs, target in loader:
        loss = huber(model(inputs) - target)  # BUG device-dtype-mixed
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
