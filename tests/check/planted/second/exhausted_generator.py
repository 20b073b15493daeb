"""Encoder and decoder trained together, with a parameter report."""
from itertools import chain
import torch
from torch import nn


def report(name, params):
    print(f"{name}: {sum(p.numel() for p in params)} parameters")
    return params


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 3))

    def forward(self, x):
        return self.f(x)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 16))

    def forward(self, z):
        return self.f(z)


torch.manual_seed(0)
enc, dec = Encoder(), Decoder()
enc_params = report("encoder", enc.parameters())  # BUG param-not-in-optimizer
opt = torch.optim.Adam(chain(enc_params, dec.parameters()), lr=4e-3)  # BUG param-not-in-optimizer
basis = torch.randn(3, 16)
for step in range(300):
    x = torch.tanh(torch.randn(64, 3) @ basis)
    loss = nn.functional.mse_loss(dec(enc(x)), x)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
print("mse", loss.item(), "variance", x.var().item())
