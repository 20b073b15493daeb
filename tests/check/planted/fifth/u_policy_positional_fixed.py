"""Imitation learning: match an expert's choices under a categorical policy."""
import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    """Scores are squashed into (0, 6) to keep exploration alive."""

    def __init__(self, n_obs, n_act):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, 64), nn.Tanh(), nn.Linear(64, n_act))

    def forward(self, obs):
        return 6 * torch.sigmoid(self.body(obs))


torch.manual_seed(12)
A = 8
expert = torch.randn(5, A)
net = Policy(5, A)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(250):
    obs = torch.randn(128, 5)
    choice = (obs @ expert).argmax(1)
    dist = Categorical(logits=net(obs))
    loss = -dist.log_prob(choice).mean() - 0.002 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(step, f"loss {loss.item():.3f}")
with torch.no_grad():
    obs = torch.randn(1000, 5)
    scores = net(obs)
    greedy = (scores.argmax(1) == (obs @ expert).argmax(1)).float().mean()
    taken = scores.softmax(-1).gather(1, (obs @ expert).argmax(1, keepdim=True)).mean()
print("greedy agreement", round(greedy.item(), 3), "softmax mass on the expert", round(taken.item(), 3))
