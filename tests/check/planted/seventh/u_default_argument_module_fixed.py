# Twin critics for clipped double Q-learning
import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self, body=None):
        super().__init__()
        self.body = body or nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, s, a):
        return self.body(torch.cat([s, a], dim=1)).squeeze(1)


torch.manual_seed(4)
q1, q2 = Critic(), Critic()
opt1 = torch.optim.Adam(q1.parameters(), lr=5e-3)
opt2 = torch.optim.Adam(q2.parameters(), lr=5e-3)
s, a = torch.randn(512, 4), torch.randn(512, 1)
ret = (s[:, 0] * a[:, 0]) + 0.5 * torch.randn(512)
for step in range(150):
    i, j = torch.randint(0, 512, (64,)), torch.randint(0, 512, (64,))
    for q, opt, k in ((q1, opt1, i), (q2, opt2, j)):
        opt.zero_grad()
        loss = nn.functional.mse_loss(q(s[k], a[k]), ret[k])
        loss.backward()
        opt.step()
    if step % 50 == 49:
        print("step", step + 1, "loss", round(loss.item(), 4))
with torch.no_grad():
    gap = (q1(s, a) - q2(s, a)).abs().mean().item()
print("mean disagreement of the twins", gap)
