import torch
from torch import nn

torch.manual_seed(44)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for episode in range(40):
    centers = torch.randn(5, 1, 8) * 1.5
    support = centers + torch.randn(5, 3, 8)
    query = centers + torch.randn(5, 4, 8)
    prototypes = net(support).mean(1)
    distance = torch.cdist(net(query).flatten(0, 1), prototypes) ** 2
    labels = torch.arange(5).repeat_interleave(4)
    loss = nn.functional.cross_entropy(-distance, labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if episode % 10 == 0:
        print(episode, loss.item())
