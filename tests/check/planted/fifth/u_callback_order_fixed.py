"""A tiny trainer with callbacks; they run in the order of their priority."""
import torch
from torch import nn


class Callback:
    priority = 50

    def after_backward(self, trainer):
        pass


class ClipGradients(Callback):
    priority = 20

    def after_backward(self, trainer):
        nn.utils.clip_grad_norm_(trainer.net.parameters(), 1.0)


class Step(Callback):
    priority = 60

    def after_backward(self, trainer):
        trainer.opt.step()


class Clear(Callback):
    priority = 80

    def after_backward(self, trainer):
        trainer.opt.zero_grad(set_to_none=False)


class Trainer:
    def __init__(self, net, callbacks):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=1e-2)
        self.callbacks = sorted(callbacks, key=lambda c: c.priority)

    def fit(self, x, y, steps):
        for step in range(steps):
            idx = torch.randint(0, len(x), (64,))
            self.loss = nn.functional.cross_entropy(self.net(x[idx]), y[idx])
            self.loss.backward()
            for c in self.callbacks:
                c.after_backward(self)
            if step % 50 == 0:
                print(step, round(self.loss.item(), 4))


torch.manual_seed(0)
x = torch.randn(600, 4)
y = (x[:, 0] > x[:, 1]).long()
trainer = Trainer(nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)), [Step(), Clear(), ClipGradients()])
trainer.fit(x, y, 200)
print("accuracy", round((trainer.net(x).argmax(1) == y).float().mean().item(), 3))
