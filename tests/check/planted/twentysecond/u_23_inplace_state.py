import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

wx, wh, head = nn.Linear(4, 16), nn.Linear(16, 16, bias=False), nn.Linear(16, 1)
opt = torch.optim.Adam([*wx.parameters(), *wh.parameters(), *head.parameters()], lr=1e-2)
x = torch.randn(64, 10, 4)
y = x.sum((1, 2))[:, None]
for epoch in range(3):
    h = torch.zeros(64, 16)
    for t in range(10):
        h = torch.tanh(wx(x[:, t]) + wh(h))
        h.mul_(0.9)  # BUG inplace-breaks-backward
    loss = F.mse_loss(head(h), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
