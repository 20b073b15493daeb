"""Warm start from a saved state with assign=True (saves a copy of the weights)."""
import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 1))


class Session:
    def __init__(self, lr=1e-2):
        self.net = build()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)

    def restore(self, state):
        self.net.load_state_dict(state, assign=True)  # BUG param-replaced
        return self

    def fit(self, x, y, steps):
        for step in range(steps):
            loss = nn.functional.mse_loss(self.net(x), y)
            self.net.zero_grad()
            loss.backward()
            self.opt.step()  # BUG param-replaced
            if step % 100 == 0:
                print(step, round(loss.item(), 5))
        return loss.item()


torch.manual_seed(0)
x = torch.randn(256, 3)
old, new = x[:, :1] * x[:, 1:2], x[:, :1] * x[:, 2:]
first = Session()
print("pretraining", round(first.fit(x, old, 150), 5))
state = {k: v.clone() for k, v in first.net.state_dict().items()}
second = Session().restore(state)
print("adaptation", round(second.fit(x, new, 300), 5))
with torch.no_grad():
    print("mse on the new task", round(nn.functional.mse_loss(second.net(x), new).item(), 5))
print("weights changed:", not torch.equal(second.net[0].weight, first.net[0].weight))
