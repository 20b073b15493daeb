import torch
from torch import nn

torch.manual_seed(0)


def dice_loss(logits, mask, eps=1.0):
    prob = torch.sigmoid(logits)
    inter = (prob * mask).sum((1, 2, 3))
    total = prob.sum((1, 2, 3)) + mask.sum((1, 2, 3))
    dice = (2 * inter + eps) / (total + eps)
    return 1 - dice.mean()


def batch(n=16):
    x = torch.randn(n, 1, 12, 12)
    return x, (nn.functional.avg_pool2d(x, 3, 1, 1) > 0).float()


net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(80):
    x, mask = batch()
    loss = dice_loss(net(x), mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(step, loss.item())
