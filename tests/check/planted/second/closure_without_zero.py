"""Fit a logistic surface with a closure-style training step."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Step:
    """a callable closure for optimizer.step"""

    def __init__(self, model, opt, sampler):
        self.model, self.opt, self.sampler = model, opt, sampler
        self.last = None

    def __call__(self):
        x, y = self.sampler(64)
        loss = F.binary_cross_entropy_with_logits(self.model(x).squeeze(1), y)
        loss.backward()  # BUG missing-zero-grad
        self.last = loss.item()
        return loss


def sampler(n):
    x = torch.randn(n, 2)
    return x, ((x ** 2).sum(1) > 1.4).float()


if __name__ == "__main__":
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.8)
    closure = Step(model, opt, sampler)
    for i in range(300):
        opt.step(closure)
    with torch.no_grad():
        x, y = sampler(500)
        print("loss", closure.last, "acc", ((model(x).squeeze(1) > 0) == (y > 0.5)).float().mean().item())
