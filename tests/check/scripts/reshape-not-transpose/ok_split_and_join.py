"""Views that split and join axes that lie side by side: heads, patches, groups, time folded into the batch."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
conv, fc, qkv = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(48, 5), nn.Linear(6, 18)
optimizer = torch.optim.Adam([*conv.parameters(), *fc.parameters(), *qkv.parameters()], lr=0.01)
images, tokens, y = torch.randn(4, 3, 4, 4), torch.randn(4, 5, 6), torch.randint(0, 5, (4,))
for _ in range(3):
    maps = conv(images)
    grouped = maps.view(4, 4, -1)
    normal = ((grouped - grouped.mean(-1, keepdim=True)) / (grouped.std(-1, keepdim=True) + 1e-5)).view(4, 8, 4, 4)
    shuffled = normal.view(4, 2, 4, 4, 4).transpose(1, 2).reshape(4, 8, 4, 4)
    patches = images.reshape(4, 3, 2, 2, 2, 2).permute(0, 2, 4, 1, 3, 5).reshape(4, 4, 12).flatten(1)
    q, k, v = qkv(tokens.reshape(20, 6)).view(4, 5, 3, 2, 3).permute(2, 0, 3, 1, 4).unbind(0)
    mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(4, 5, 6)
    loss = F.cross_entropy(fc(patches), y) + shuffled.pow(2).mean() + mixed.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
