"""Double critics with target networks on a linear-quadratic task."""
import torch
import torch.nn as nn


def critic():
    return nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))


def polyak(target, online, tau=0.05):
    with torch.no_grad():
        for t, o in zip(target.parameters(), online.parameters()):
            t.lerp_(o, tau)


class Agent:
    def __init__(self):
        self.q1, self.q2 = critic(), critic()
        self.t1, self.t2 = critic(), critic()
        self.t1.load_state_dict(self.q1.state_dict())
        self.t2.load_state_dict(self.q2.state_dict())
        self.t1.requires_grad_(False)
        self.t2.requires_grad_(False)
        self.opt = torch.optim.Adam([*self.q1.parameters(), *self.q2.parameters()], lr=3e-3)

    def update(self, s, a, r, s2, a2):
        with torch.no_grad():
            nxt = torch.cat([s2, a2], 1)
            y = r + 0.8 * torch.min(self.t1(nxt), self.t2(nxt))
        sa = torch.cat([s, a], 1)
        loss = (self.q1(sa) - y).pow(2).mean() + (self.q2(sa) - y).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        polyak(self.t1, self.q1)
        polyak(self.t2, self.q2)
        return loss.item()


torch.manual_seed(0)
agent = Agent()
hist = []
for it in range(300):
    s, a = torch.randn(64, 2), torch.rand(64, 1) * 2 - 1
    s2 = 0.8 * s + 0.3 * a + 0.05 * torch.randn(64, 2)
    r = -(s ** 2).mean(1, keepdim=True)
    hist.append(agent.update(s, a, r, s2, -0.5 * s2.mean(1, keepdim=True)))
print("td error", sum(hist[:10]) / 10, "->", sum(hist[-10:]) / 10)
