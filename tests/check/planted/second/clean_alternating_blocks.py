"""Matrix factorisation by alternating gradient phases."""
import torch
from torch import nn

torch.manual_seed(0)
R = torch.randn(40, 3) @ torch.randn(3, 30) / 3 ** 0.5
seen = torch.rand(40, 30) < 0.6
users, items = nn.Parameter(0.3 * torch.randn(40, 3)), nn.Parameter(0.3 * torch.randn(30, 3))
opts = {"users": torch.optim.Adam([users], lr=5e-2), "items": torch.optim.Adam([items], lr=5e-2)}


def objective():
    err = (users @ items.t() - R)[seen]
    return err.pow(2).mean() + 1e-3 * (users.pow(2).mean() + items.pow(2).mean())


for phase in range(16):
    active = "users" if phase % 2 == 0 else "items"
    users.requires_grad_(active == "users")
    items.requires_grad_(active == "items")
    for _ in range(20):
        loss = objective()
        opts[active].zero_grad()
        loss.backward()
        opts[active].step()
with torch.no_grad():
    print("train", loss.item(), "unseen mse", (users @ items.t() - R)[~seen].pow(2).mean().item(), "variance", R.var().item())
