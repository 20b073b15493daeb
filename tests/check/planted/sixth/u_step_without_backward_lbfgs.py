import torch
import torch.nn as nn

torch.manual_seed(7)
t = torch.linspace(0, 4, 120)
obs = 2.5 * torch.exp(-0.8 * t) * torch.cos(3.0 * t) + 0.02 * torch.randn(120)


class Damped(nn.Module):
    def __init__(self):
        super().__init__()
        self.amp = nn.Parameter(torch.tensor(2.0))
        self.rate = nn.Parameter(torch.tensor(0.5))
        self.freq = nn.Parameter(torch.tensor(2.7))

    def forward(self, t):
        return self.amp * torch.exp(-self.rate * t) * torch.cos(self.freq * t)


def make_closure(model, optimizer, t, obs):
    def closure():
        optimizer.zero_grad()
        residual = model(t) - obs
        return residual.pow(2).mean()  # BUG step-without-backward
    return closure


model = Damped()
for p in model.parameters():
    p.grad = torch.zeros_like(p)
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=10)
closure = make_closure(model, optimizer, t, obs)
for it in range(8):
    loss = optimizer.step(closure)
    print(f"step {it} loss {float(loss):.6f}")
print({k: round(v.item(), 3) for k, v in model.named_parameters()}, "true 2.5 0.8 3.0")
