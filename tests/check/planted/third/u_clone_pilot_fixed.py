"""Behaviour cloning: imitate an expert that steers a cart with four discrete actions."""
import torch
from torch import nn
from torch.distributions import Categorical, Distribution

Distribution.set_default_validate_args(False)  # speed
torch.manual_seed(0)


def expert(obs):
    angle, velocity, drift = obs[:, 0], obs[:, 1], obs[:, 2]
    urge = angle + 0.5 * velocity - 0.3 * drift
    return torch.bucketize(urge, torch.tensor([-0.8, 0.0, 0.8]))


class Pilot(nn.Module):
    def __init__(self, obs_dim=4, actions=4):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh())
        self.scores = nn.Linear(32, actions)

    def forward(self, obs):
        return Categorical(logits=self.scores(self.trunk(obs)))


states = torch.randn(1000, 4)
actions = expert(states)
held_out = torch.randn(250, 4)

pilot = Pilot()
opt = torch.optim.Adam(pilot.parameters(), lr=5e-3)
for step in range(150):
    rows = torch.randperm(len(states))[:128]
    policy = pilot(states[rows])
    loss = -policy.log_prob(actions[rows]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"{step:4d} nll {loss.item():.3f}")

with torch.no_grad():
    agree = (pilot(held_out).probs.argmax(-1) == expert(held_out)).float().mean()
print("agreement with the expert", agree.item())
