# Features are tiny, so the rate of plain gradient descent is large
import torch

torch.manual_seed(105)
x = torch.rand(300, 3) * 0.1
y = (x.sum(1) > 0.15).float()
w = torch.zeros(3, requires_grad=True)
b = torch.zeros((), requires_grad=True)
optimizer = torch.optim.SGD([{"params": [w], "lr": 20.0}, {"params": [b], "lr": 0.5}], lr=0.1)
for step in range(80):
    optimizer.zero_grad()
    loss = torch.nn.functional.binary_cross_entropy_with_logits(x @ w + b, y)
    loss.backward()
    optimizer.step()
print(loss.item())
