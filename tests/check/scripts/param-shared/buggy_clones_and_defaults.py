"""A function that should copy a layer and does not, a default that all blocks share, a target network that is the network."""

import torch
from torch import nn


def clones(layer, n):
    return nn.ModuleList([layer for _ in range(n)])  # <- finding


class Block(nn.Module):
    def __init__(self, norm=nn.LayerNorm(6)):  # <- finding
        super().__init__()
        self.norm = norm
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        return x + self.linear(self.norm(x))


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = clones(nn.Linear(6, 6), 2)
        self.blocks = nn.Sequential(Block(), Block())
        self.online = nn.Linear(6, 2)
        self.target = self.online  # <- finding

    def forward(self, x):
        for layer in self.encoder:
            x = torch.tanh(layer(x))
        return self.blocks(x)


torch.manual_seed(0)
agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=0.01)
for _ in range(3):
    state = agent(torch.randn(8, 6))
    with torch.no_grad():
        wanted = agent.target(state).max(1).values
    loss = (agent.online(state)[:, 0] - wanted).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
