"""Mixture of experts for piecewise regression."""
import torch
from torch import nn


class MoE(nn.Module):
    def __init__(self, d, hidden, n_experts=4):
        super().__init__()
        self.gate = nn.Linear(d, n_experts)
        self.experts = nn.ModuleList([self.make_expert(d, hidden) for _ in range(n_experts)])

    @staticmethod
    def make_expert(d, hidden):
        return nn.Sequential(nn.Linear(d, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, x):
        weights = torch.softmax(self.gate(x), dim=-1)
        outs = torch.cat([e(x) for e in self.experts], dim=-1)
        return (weights * outs).sum(dim=-1)


def piecewise(n):
    x = torch.rand(n, 2) * 4 - 2
    y = torch.where(x[:, 0] > 0, 2 * x[:, 1], -x[:, 1] + 1)
    return x, y


def train(model, epochs, lr):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    x, y = piecewise(800)
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(x)).split(40):
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"{epoch}: {total / 20:.4f}")


torch.manual_seed(0)
train(MoE(2, 16), 5, 1e-2)
