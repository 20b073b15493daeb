# (N,1) against (1,M) broadcast on purpose: pairwise distances for a kernel regression with a learned width.
import torch

torch.manual_seed(6)
xs = torch.rand(120) * 6
ys = torch.sin(xs) + 0.1 * torch.randn(120)
xq = torch.rand(60) * 6
yq = torch.sin(xq)
log_width = torch.nn.Parameter(torch.tensor(1.0))
opt = torch.optim.Adam([log_width], lr=0.05)


def predict(query, hide_self=False):
    d2 = (query[:, None] - xs[None, :]) ** 2
    logits = -d2 / (2 * log_width.exp() ** 2)
    if hide_self:
        logits = logits.masked_fill(torch.eye(len(xs), dtype=torch.bool), float("-inf"))
    return torch.softmax(logits, dim=1) @ ys


for it in range(80):
    opt.zero_grad()
    loss = (predict(xs, hide_self=True) - ys).pow(2).mean()
    loss.backward()
    opt.step()
    if it % 20 == 19:
        print(f"{it + 1}: leave-one-out mse {loss.item():.4f} width {log_width.exp().item():.3f}")
with torch.no_grad():
    print("query mse", (predict(xq) - yq).pow(2).mean().item())
