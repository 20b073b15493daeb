"""Behaviour cloning of a simple controller."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    obs_dim: int = 8
    n_actions: int = 5
    hidden: int = 48
    lr: float = 3e-3
    batch_size: int = 64
    steps: int = 120
    action_axis: int = 0  # BUG softmax-wrong-dim


class Policy(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.body = nn.Sequential(nn.Linear(cfg.obs_dim, cfg.hidden), nn.Tanh())
        self.head = nn.Linear(cfg.hidden, cfg.n_actions)

    def log_probs(self, obs):
        return F.log_softmax(self.head(self.body(obs)), dim=self.cfg.action_axis)  # BUG softmax-wrong-dim


def expert(obs, w):
    return (obs @ w).argmax(dim=-1)


if __name__ == "__main__":
    torch.manual_seed(0)
    cfg = Config()
    w = torch.randn(cfg.obs_dim, cfg.n_actions)
    policy = Policy(cfg)
    opt = torch.optim.Adam(policy.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        obs = torch.randn(cfg.batch_size, cfg.obs_dim)
        act = expert(obs, w)
        loss = F.nll_loss(policy.log_probs(obs), act)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 29:
            print(step, round(loss.item(), 4))
    with torch.no_grad():
        obs = torch.randn(500, cfg.obs_dim)
        agree = (policy.log_probs(obs).argmax(dim=-1) == expert(obs, w)).float().mean()
    print("agreement with expert", agree.item())
