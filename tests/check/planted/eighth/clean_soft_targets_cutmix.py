# CutMix with soft targets given to cross entropy as probabilities
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(4)
y = torch.randint(0, 3, (240,))
x = torch.randn(240, 1, 8, 8)
x[torch.arange(240), 0, y] += 2
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 3))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(4):
    for rows in torch.randperm(240).split(30):
        a, hot = x[rows].clone(), F.one_hot(y[rows], 3).float()
        other = torch.randperm(len(rows))
        cut = int(torch.randint(1, 5, ()))
        a[:, :, :, :cut] = a[other][:, :, :, :cut]
        share = cut / 8
        goal = (1 - share) * hot + share * hot[other]
        opt.zero_grad()
        loss = F.cross_entropy(net(a), goal)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
