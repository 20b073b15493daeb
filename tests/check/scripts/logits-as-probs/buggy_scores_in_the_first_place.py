import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(10):
    x = torch.randn(64, 4)
    y = x[:, :3].argmax(1)
    scores = 5 * torch.sigmoid(net(x))
    chosen = Categorical(scores)  # <- finding
    loss = -chosen.log_prob(y).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    print((5 * torch.sigmoid(net(x))).softmax(-1).max().item())
