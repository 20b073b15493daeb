"""Each model has a function of its own that steps; only the one at the top clears."""

import torch
from torch import nn

torch.manual_seed(0)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, z):
        return self.body(z)


decoder = Decoder()
judge = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())
optimizers = {
    "decoder": torch.optim.SGD(decoder.parameters(), lr=0.01),
    "judge": torch.optim.SGD(judge.parameters(), lr=0.01),
}


def train_judge(real, made):
    loss = -(judge(real).log() + (1 - judge(made)).log()).mean()  # <- finding
    loss.backward()
    optimizers["judge"].step()
    return loss


def train_decoder(z):
    loss = -judge(decoder(z)).log().mean()
    loss.backward()
    optimizers["decoder"].step()
    return loss


for step in range(6):
    for optimizer in optimizers.values():
        optimizer.zero_grad()
    z = torch.randn(16, 3)
    first = train_judge(torch.randn(16, 4), decoder(z))
    second = train_decoder(z)
print(first.item(), second.item())
