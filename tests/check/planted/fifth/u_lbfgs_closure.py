"""Calibrate a physical model (damped oscillator) with LBFGS."""
import torch
from torch import nn


class Oscillator(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_damping = nn.Parameter(torch.tensor(-2.0))
        self.omega = nn.Parameter(torch.tensor(2.0))
        self.phase = nn.Parameter(torch.tensor(0.0))

    def forward(self, t):
        return torch.exp(-self.log_damping.exp() * t) * torch.cos(self.omega * t + self.phase)


torch.manual_seed(0)
t = torch.linspace(0, 4, 120)
observed = torch.exp(-0.35 * t) * torch.cos(2.4 * t + 0.4) + 0.01 * torch.randn(120)
model = Oscillator()
opt = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=10, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    residual = model(t) - observed
    loss = residual.square().mean()
    return loss  # BUG step-without-backward


for round_ in range(8):
    loss = opt.step(closure)  # BUG step-without-backward
    print(f"round {round_} misfit {float(loss.detach()):.6f}")
print({k: round(v.item(), 3) for k, v in model.named_parameters()})
print("truth: log_damping -1.05 omega 2.4 phase 0.4")
