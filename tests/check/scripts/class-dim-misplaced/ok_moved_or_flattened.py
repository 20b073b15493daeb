"""The usual ways to give sequences and images to cross entropy."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
head, conv = nn.Linear(5, 6), nn.Conv2d(2, 6, 1)
optimizer = torch.optim.SGD([*head.parameters(), *conv.parameters()], lr=0.1)
x, y = torch.randn(3, 6, 5), torch.randint(0, 6, (3, 6))
images, masks = torch.randn(2, 2, 6, 6), torch.randint(0, 6, (2, 6, 6))
for _ in range(3):
    out, maps = head(x), conv(images)
    loss = F.cross_entropy(out.transpose(1, 2), y) + F.cross_entropy(out.view(-1, 6), y.view(-1)) + F.cross_entropy(maps, masks)
    loss = loss + F.cross_entropy(maps.permute(0, 2, 3, 1).reshape(-1, 6), masks.reshape(-1))
    loss = loss + F.mse_loss(torch.softmax(maps, dim=1), F.one_hot(masks, 6).permute(0, 3, 1, 2).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    accuracy = (out.argmax(dim=-1) == y).float().mean() + (maps.argmax(dim=1) == masks).float().mean()
print(loss.item(), accuracy.item())
