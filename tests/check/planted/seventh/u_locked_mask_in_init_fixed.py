import torch
from torch import nn


class LockedDropout(nn.Module):
    """The same mask along time (variational dropout)."""

    def __init__(self, dim, p=0.5):
        super().__init__()
        self.dim, self.p = dim, p

    def forward(self, x):
        if not self.training:
            return x
        keep = torch.full((x.size(0), 1, self.dim), 1 - self.p)
        return x * torch.bernoulli(keep) / (1 - self.p)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = LockedDropout(16)
        self.gru = nn.GRU(16, 16, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(self.gru(self.drop(x))[0][:, -1]).squeeze(1)


torch.manual_seed(7)
x = torch.randn(500, 6, 16)
y = x[:, :, :].mean(2).sum(1)
model = Model()
probe = torch.ones(1, 6, 16)
masks = torch.stack([model.drop(probe)[0, 0] for _ in range(20)])
print("different masks in 20 draws:", len(masks.unique(dim=0)))
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(10):
    model.train()
    for b in torch.randperm(400).split(40):
        opt.zero_grad()
        nn.functional.mse_loss(model(x[b]), y[b]).backward()
        opt.step()
model.eval()
print("test mse", nn.functional.mse_loss(model(x[400:]), y[400:]).item())
