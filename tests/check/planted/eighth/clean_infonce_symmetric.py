# Two views of an item: symmetric contrastive loss, labels are arange, logits are used twice (rows and columns)
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(7)
image = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8))
text = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 8))
log_scale = nn.Parameter(torch.tensor(math.log(10.0)))
opt = torch.optim.Adam([*image.parameters(), *text.parameters(), log_scale], lr=3e-3)
A, B = torch.randn(5, 20), torch.randn(5, 12)
for step in range(60):
    z = torch.randn(32, 5)
    a = F.normalize(image(z @ A + 0.1 * torch.randn(32, 20)), dim=1)
    b = F.normalize(text(z @ B + 0.1 * torch.randn(32, 12)), dim=1)
    logits = log_scale.exp() * a @ b.T
    same = torch.arange(32)
    loss = (F.cross_entropy(logits, same) + F.cross_entropy(logits.T, same)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        log_scale.clamp_(0, math.log(100))
print(loss.item())
