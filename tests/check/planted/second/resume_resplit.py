"""Checkpointed training: first half of the epochs, then resumed in a new process."""
import io
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset


def dataset():
    g = torch.Generator().manual_seed(0)
    x = torch.randn(240, 16, generator=g)
    y = (x[:, 0] + 0.9 * torch.randn(240, generator=g) > 0).long()
    return TensorDataset(x, y)


class Session:
    def __init__(self, seed, ckpt=None):
        torch.manual_seed(seed)
        self.net = nn.Sequential(nn.Linear(16, 96), nn.ReLU(), nn.Linear(96, 2))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=4e-3)
        ds = dataset()
        order = torch.randperm(len(ds))
        if ckpt is not None:
            state = torch.load(ckpt, weights_only=True)
            self.net.load_state_dict(state["net"])
            self.opt.load_state_dict(state["opt"])
        self.order = order
        self.train = Subset(ds, order[:180].tolist())
        self.val = Subset(ds, order[180:].tolist())  # BUG data-leak

    def save(self):
        buf = io.BytesIO()
        torch.save({"net": self.net.state_dict(), "opt": self.opt.state_dict(),
                    }, buf)  # BUG data-leak
        buf.seek(0)
        return buf

    def fit(self, epochs):
        for _ in range(epochs):
            for x, y in DataLoader(self.train, 30, shuffle=True):
                loss = nn.functional.cross_entropy(self.net(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()

    @torch.no_grad()
    def validate(self):
        x, y = next(iter(DataLoader(self.val, 60)))
        return (self.net(x).argmax(1) == y).float().mean().item()


first = Session(seed=1)
first.fit(15)
second = Session(seed=2, ckpt=first.save())  # BUG data-leak
print("val acc after resume", second.validate())
second.fit(5)
print("val acc at the end", second.validate())
