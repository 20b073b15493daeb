"""Discrete latent autoencoder with Gumbel softmax."""
import torch
from torch import nn
import torch.nn.functional as F


class DiscreteAE(nn.Module):
    def __init__(self, d=10, k=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, k))
        self.dec = nn.Linear(k, d, bias=False)

    def forward(self, x, tau):
        q = torch.softmax(self.enc(x), dim=-1)
        z = F.gumbel_softmax(q, tau=tau, hard=False)  # BUG probs-as-logits
        return self.dec(z)


def anneal(step, start=1.0, end=0.3, n=300):
    return start + (end - start) * min(1.0, step / n)


torch.manual_seed(0)
centers = 2 * torch.randn(6, 10)
model = DiscreteAE()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(350):
    x = centers[torch.randint(0, 6, (64,))] + 0.1 * torch.randn(64, 10)
    loss = F.mse_loss(model(x, anneal(step)), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("reconstruction", loss.item(), "variance", x.var().item())
