import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 4)
bins = torch.linspace(0, 10, 5)
y = torch.randint(0, 5, (200,))
net = nn.Linear(4, 5)
opt = torch.optim.Adam(net.parameters(), lr=0.1)
for step in range(20):
    opt.zero_grad()
    nn.functional.cross_entropy(net(x[:150]), y[:150]).backward()
    opt.step()
with torch.no_grad():
    scores = net(x[150:])
    amount = (scores * bins).sum(1)  # <- finding
    print("mean amount", amount.mean().item())
