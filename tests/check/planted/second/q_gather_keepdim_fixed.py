"""Double Q-learning from a fixed data set of transitions (offline RL)."""
import copy
import torch
import torch.nn as nn


class QNet(nn.Module):
    def __init__(self, n_obs=4, n_act=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 48), nn.ReLU(), nn.Linear(48, n_act))

    def forward(self, s):
        return self.net(s)


def huber(delta):
    a = delta.abs()
    return torch.where(a < 1, 0.5 * delta ** 2, a - 0.5).mean()


def transitions(n):
    s = torch.randn(n, 4)
    a = torch.randint(0, 3, (n,))
    r = s.gather(1, a[:, None]).squeeze(1)
    return s, a, r, torch.randn(n, 4)


def td_loss(q, target, batch, gamma=0.5):
    s, a, r, s2 = batch
    qa = q(s).gather(1, a[:, None]).squeeze(1)
    with torch.no_grad():
        best = q(s2).argmax(1, keepdim=True)
        y = r + gamma * target(s2).gather(1, best).squeeze(1)
    return huber(qa - y)


torch.manual_seed(0)
q = QNet()
target = copy.deepcopy(q).requires_grad_(False)
opt = torch.optim.Adam(q.parameters(), lr=4e-3)
for it in range(300):
    loss = td_loss(q, target, transitions(64))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 25 == 0:
        target.load_state_dict(q.state_dict())
with torch.no_grad():
    s = torch.randn(1000, 4)
    agree = (q(s).argmax(1) == s[:, :3].argmax(1)).float().mean()
print("greedy action is the best one:", agree.item())
