import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(6, 16), nn.Linear(16, 3)
slow = (p for p in body.parameters())  # <- finding
print(sum(p.numel() for p in slow), "numbers in the body")
opt = torch.optim.SGD([{"params": slow, "lr": 1e-3}, {"params": head.parameters()}], lr=0.05)
x = torch.randn(200, 6)
y = x[:, :3].argmax(1)
for step in range(12):
    loss = nn.functional.cross_entropy(head(torch.relu(body(x))), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
