"""Off-policy policy gradient over trajectories of a guessing task."""
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self, n_obs=4, n_act=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, n_act))

    def log_prob(self, obs, act):
        return torch.log_softmax(self.net(obs), -1).gather(-1, act.unsqueeze(-1)).squeeze(-1)


def behaviour(n, T):
    """uniform behaviour policy; action 0 is right if the first feature is the largest, and so on"""
    obs = torch.randn(n, T, 4)
    act = torch.randint(0, 3, (n, T))
    rew = (act == obs[..., :3].argmax(-1)).float() - 1 / 3
    return obs, act, rew


def main(T=40):
    torch.manual_seed(0)
    pi = Policy()
    opt = torch.optim.SGD(pi.parameters(), lr=0.3)
    for it in range(150):
        obs, act, rew = behaviour(32, T)
        log_ratio = pi.log_prob(obs, act) + torch.log(torch.tensor(3.0))
        weight = log_ratio.exp().clamp(max=2.0)
        loss = -(weight * rew).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        obs = torch.randn(1000, 4)
        acc = (pi.net(obs).argmax(-1) == obs[:, :3].argmax(-1)).float().mean()
    print(f"greedy policy accuracy {acc:.3f}")


main()
