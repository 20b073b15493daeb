"""Evaluate a linear probe batch by batch."""
import numpy as np
import torch
import torch.nn as nn


def accuracy(logits, y):
    return (logits.argmax(1) == y).float().mean().item()


class Probe(nn.Linear):
    def fit(self, x, y, epochs=30, lr=0.1):
        opt = torch.optim.SGD(self.parameters(), lr=lr)
        for _ in range(epochs):
            for idx in torch.randperm(len(x)).split(40):
                opt.zero_grad()
                nn.functional.cross_entropy(self(x[idx]), y[idx]).backward()
                opt.step()
        return self

    @torch.no_grad()
    def score(self, x, y, bs=64):
        accs = []
        for xb, yb in zip(x.split(bs), y.split(bs)):
            accs.append(accuracy(self(xb), yb))  # BUG partial-batch-mean
        return np.mean(accs)  # BUG partial-batch-mean


torch.manual_seed(0)
x = torch.randn(730, 6)
y = (x[:, 0] + 0.8 * torch.randn(730) > 0).long()
probe = Probe(6, 2).fit(x[:600], y[:600])
print("test accuracy", float(probe.score(x[600:], y[600:])))
