import copy

import torch
from torch import nn

torch.manual_seed(0)
GAMMA, TAU = 0.9, 0.05


class Critic(nn.Module):
    def __init__(self, n_states):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_states, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, s):
        return self.net(s).squeeze(1)


def soft_update(online, target, tau):
    with torch.no_grad():
        for p, tp in zip(online.parameters(), target.parameters()):
            tp = tau * p + (1.0 - tau) * tp  # BUG target-update|rebind|average-incomplete


N = 6
online = Critic(N)
target = copy.deepcopy(online)
opt = torch.optim.Adam(online.parameters(), lr=1e-2)
eye = torch.eye(N)
for it in range(500):
    s = torch.randint(0, N, (64,))
    s2 = (s + 1) % N
    reward = (s2 == 0).float()
    with torch.no_grad():
        td_target = reward + GAMMA * target(eye[s2])
    loss = nn.functional.mse_loss(online(eye[s]), td_target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    soft_update(online, target, TAU)
    if it % 100 == 99:
        print(f"it {it + 1} td loss {loss.item():.5f}")

period = 1 - GAMMA ** N
truth = [GAMMA ** (N - 1 - k) / period for k in range(N)]
with torch.no_grad():
    print("learned", [round(v, 2) for v in online(eye).tolist()])
print("exact  ", [round(v, 2) for v in truth])
