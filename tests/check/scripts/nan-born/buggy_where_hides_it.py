"""torch.where picks the finite branch, the derivative of the other is there all the same. Updates by hand."""

import torch

torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
x = torch.randn(10, 3).abs()
x[2] = 0
target = torch.rand(10)
for step in range(3):
    rate = (x * w.exp()).sum(dim=1)
    logs = torch.where(rate > 0, torch.log(rate), torch.zeros_like(rate))  # <- finding
    loss = ((logs - target) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.05 * w.grad
        w.grad.zero_()
    print(step, loss.item())
