"""A sparse autoencoder: reconstruction plus an L1 penalty on the code."""

import torch
from torch import nn

torch.manual_seed(15)
LAMBDA = 0.05


class SparseAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(20, 40)
        self.dec = nn.Linear(40, 20)

    def forward(self, x):
        code = torch.relu(self.enc(x))
        return self.dec(code), code


basis = torch.randn(5, 20)
ae = SparseAE()
opt = torch.optim.Adam(ae.parameters(), lr=3e-3)
for step in range(40):
    x = torch.randn(64, 5) @ basis
    recon, code = ae(x)
    rec_loss = nn.functional.mse_loss(recon, x)
    l1 = code.abs().mean().item()  # BUG gradient-cut
    loss = rec_loss + LAMBDA * l1
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, rec_loss.item(), float(l1))
