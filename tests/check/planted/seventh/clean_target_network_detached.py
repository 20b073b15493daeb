# Q-learning: the target is detached and the target net has no optimizer, both intended
import copy
import torch
from torch import nn

torch.manual_seed(3)
q = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
target = copy.deepcopy(q).requires_grad_(False)
opt = torch.optim.Adam(q.parameters(), lr=3e-3)
s = torch.randn(500, 3)
a = torch.randint(0, 2, (500,))
r = (s[:, 0] > 0).float() * (a == 1).float()
s2 = torch.randn(500, 3)

for step in range(200):
    i = torch.randint(0, 500, (64,))
    with torch.no_grad():
        goal = r[i] + 0.5 * target(s2[i]).max(1).values
    value = q(s[i]).gather(1, a[i, None]).squeeze(1)
    loss = nn.functional.mse_loss(value, goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        target.load_state_dict(q.state_dict())
    if step % 50 == 49:
        print("step", step + 1, "loss", loss.item())
