import torch
from torch import nn

torch.manual_seed(0)
xs = torch.randn(1000, 16)
ys = torch.sin(xs[:, :1]) + 0.1 * torch.randn(1000, 1)


def batches(size):
    perm = torch.randperm(len(xs))
    for i in range(0, len(xs), size):
        sel = perm[i:i + size]
        yield xs[sel], ys[sel]


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(16, 64)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.inp(x)))


reg = Regressor()
optim = torch.optim.Adam(reg.parameters(), lr=5e-3)
history = []
for epoch in range(5):
    for xb, yb in batches(50):
        optim.zero_grad()
        loss = nn.functional.mse_loss(reg(xb), yb)
        loss.backward()
        optim.step()
        history.append(loss)  # BUG memory-growth|graph-retained|graph-kept
    last = history[-20:]
    print(f"epoch {epoch} mean loss {sum(last) / len(last):.4f}")
print("tracked graphs:", sum(1 for h in history if getattr(h, "grad_fn", None) is not None))
