"""Policy gradient for a matching game: repeat the shown symbol."""
import torch
import torch.nn as nn
from torch.distributions import Categorical


class Actor(nn.Module):
    def __init__(self, n=5):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n, 32), nn.Tanh(), nn.Linear(32, n), nn.Softplus())

    def forward(self, x):
        # positive scores
        return self.net(x)


def main():
    torch.manual_seed(0)
    actor = Actor()
    opt = torch.optim.Adam(actor.parameters(), lr=1e-2)
    eye = torch.eye(5)
    for step in range(200):
        sym = torch.randint(0, 5, (64,))
        dist = Categorical(actor(eye[sym]))  # BUG logits-as-probs
        act = dist.sample()
        reward = (act == sym).float()
        loss = -(dist.log_prob(act) * (reward - 0.5)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("last reward", reward.mean().item())


main()
