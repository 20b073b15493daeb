"""Softmax regression from scratch with manual updates and momentum."""
import torch

torch.manual_seed(0)
w_true = torch.randn(6, 3)
w = torch.zeros(6, 3, requires_grad=True)
b = torch.zeros(3, requires_grad=True)
vel = [torch.zeros_like(w), torch.zeros_like(b)]
for step in range(200):
    x = torch.randn(64, 6)
    y = (x @ w_true).argmax(1)
    logp = torch.log_softmax(x @ w + b, dim=1)
    loss = -logp[torch.arange(64), y].mean() + 1e-4 * w.pow(2).sum()
    grads = torch.autograd.grad(loss, [w, b])
    with torch.no_grad():
        for p, g, v in zip([w, b], grads, vel):
            v.mul_(0.9).add_(g)
            p -= 0.1 * v
with torch.no_grad():
    x = torch.randn(500, 6)
    print("loss", loss.item(), "acc", ((x @ w + b).argmax(1) == (x @ w_true).argmax(1)).float().mean().item())
