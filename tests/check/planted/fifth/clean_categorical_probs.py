"""A categorical given real probabilities by position: right, since they are probabilities."""
import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 4), nn.Softmax(dim=-1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
w = torch.randn(3, 4)
for step in range(400):
    obs = torch.randn(128, 3)
    best = (obs @ w).argmax(1)
    dist = Categorical(net(obs))
    loss = -dist.log_prob(best).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(step, round(loss.item(), 3))
obs = torch.randn(1000, 3)
print("agreement", (net(obs).argmax(1) == (obs @ w).argmax(1)).float().mean().item())
