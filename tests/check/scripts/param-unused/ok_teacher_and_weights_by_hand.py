"""A teacher that is only averaged into, weights used without calling their module, a frozen table, a model that is only saved."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 6)
        self.positions = nn.Parameter(torch.zeros(5, 6), requires_grad=False)
        self.query = nn.Linear(6, 6)
        self.bias = nn.Parameter(torch.zeros(10))

    def forward(self, tokens):
        x = self.embedding(tokens)
        x = F.linear(x, self.query.weight, self.query.bias)
        return x @ self.embedding.weight.T + self.bias


torch.manual_seed(0)
student = Tied()
teacher = copy.deepcopy(student)
spare = nn.Linear(3, 3)
optimizer = torch.optim.Adam(student.parameters(), lr=0.01)
for _ in range(4):
    tokens = torch.randint(0, 10, (4, 5))
    optimizer.zero_grad()
    loss = F.cross_entropy(student(tokens).flatten(0, 1), tokens.flatten())
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for p, q in zip(teacher.parameters(), student.parameters()):
            p.mul_(0.9).add_(q, alpha=0.1)
print(loss.item(), len(spare.state_dict()))
