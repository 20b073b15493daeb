# Ridge-like regression of rents, everything by hand
import torch

torch.manual_seed(5)
n = 200
x = torch.randn(n, 5)
rent = x @ torch.tensor([1.0, 0.5, -0.3, 0.0, 2.0]) + 0.1 * torch.randn(n)
w = torch.zeros(5, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr = 0.05
for it in range(100):
    pred = x @ w + b
    error = pred - rent  # BUG mutual-broadcast|loss-shape-mismatch
    loss = (error ** 2).mean() + 1e-3 * (w ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w -= lr * w.grad
        b -= lr * b.grad
        w.grad = None
        b.grad = None
    if it % 25 == 0:
        print(it, loss.item())
