# The input that excites a unit most: the network is not trained, the picture is
import torch
from torch import nn

torch.manual_seed(111)
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)).eval()
net.requires_grad_(False)
picture = torch.zeros(1, 1, 9, 9, requires_grad=True)
optimizer = torch.optim.Adam([picture], lr=0.1)
for step in range(30):
    optimizer.zero_grad()
    score = net(picture + 0.01 * torch.randn_like(picture))[0, 1]
    loss = -score + 1e-2 * picture.pow(2).sum()
    loss.backward()
    optimizer.step()
print(score.item())
