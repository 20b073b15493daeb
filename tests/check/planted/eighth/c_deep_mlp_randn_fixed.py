# A deep network written with bare matrices
import torch
import torch.nn.functional as F

torch.manual_seed(6)
width, depth = 64, 14
x = torch.randn(256, width)
y = (x[:, 0] > 0).long()
weights = [(torch.randn(width, width) * (2 / width) ** 0.5).requires_grad_() for _ in range(depth)]
last = (torch.randn(width, 2) / width ** 0.5).requires_grad_()
optimizer = torch.optim.SGD([*weights, last], lr=0.01)
for step in range(25):
    h = x
    for w in weights:
        h = F.relu(h @ w)
    loss = F.cross_entropy(h @ last, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(step, loss.item())
