"""A model's own train() forgets the mode, so eval() leaves it in train mode; all in a function."""

import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.BatchNorm1d(4)
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))

    def forward(self, x):
        return self.body(self.stem(x))

    def train(self, mode=True):
        super().train()  # <- finding
        self.stem.eval()
        return self


def main():
    x, y = torch.randn(48, 4), torch.randint(0, 2, (48,))
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(3):
        model.train()
        for rows in torch.randperm(32).split(16):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(nn.functional.cross_entropy(model(x[32:]), y[32:]).item())


main()
