"""Polyak averaging by a dict of shadow weights."""
import torch
from torch import nn
from torch.func import functional_call


class Shadow:
    def __init__(self, model, decay=0.98):
        self.decay = decay
        self.w = {k: p.detach().clone() for k, p in model.named_parameters()}

    def update(self, model):
        for k, p in model.named_parameters():
            self.w[k] = self.decay * self.w[k] + (1 - self.decay) * p.detach()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 1))
shadow = Shadow(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1)


def draw(n):
    x = torch.randn(n, 3)
    return x, x[:, :1] * x[:, 1:2] + 0.5 * torch.randn(n, 1)


for step in range(400):
    x, y = draw(64)
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    shadow.update(model)
x = torch.randn(1000, 3)
with torch.no_grad():
    err = nn.functional.mse_loss(functional_call(model, shadow.w, (x,)), x[:, :1] * x[:, 1:2])
print("mse of the averaged weights", err.item(), "variance 1")
