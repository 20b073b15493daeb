import torch
from torch import nn


def smooth_cross_entropy(logits, target, eps=0.1):
    n = logits.size(1)
    off = eps / (n - 1)
    soft = torch.full_like(logits, off)
    soft.scatter_(1, target[:, None], eps)  # <- finding
    return -(soft * logits.log_softmax(1)).sum(1).mean()


torch.manual_seed(54)
y = torch.randint(0, 5, (400,))
x = torch.randn(5, 8)[y] * 2 + torch.randn(400, 8)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    for i in torch.randperm(400).split(40):
        loss = smooth_cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
