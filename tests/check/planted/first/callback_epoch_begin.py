"""Trainer with callbacks; one of them drives a step schedule."""
import torch
from torch import nn


class Callback:
    def on_epoch_begin(self, trainer): ...
    def on_epoch_end(self, trainer): ...


class LRCallback(Callback):
    def __init__(self, make):
        self.make = make
        self.sched = None

    def attach(self, trainer):
        self.sched = self.make(trainer.opt)

    def on_epoch_begin(self, trainer):  # BUG scheduler-before-optimizer
        self.sched.step()  # BUG scheduler-before-optimizer


class History(Callback):
    def __init__(self):
        self.losses = []

    def on_epoch_end(self, trainer):
        self.losses.append(trainer.last_loss)


class Trainer:
    def __init__(self, model, callbacks):
        self.model, self.callbacks = model, callbacks
        self.opt = torch.optim.SGD(model.parameters(), lr=0.3)
        for c in callbacks:
            if hasattr(c, "attach"):
                c.attach(self)

    def emit(self, event):
        for c in self.callbacks:
            getattr(c, event)(self)

    def fit(self, x, y, epochs):
        for _ in range(epochs):
            self.emit("on_epoch_begin")
            for idx in torch.randperm(len(x)).split(40):
                loss = nn.functional.mse_loss(self.model(x[idx]), y[idx])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            self.last_loss = loss.item()
            self.emit("on_epoch_end")


torch.manual_seed(0)
x = torch.randn(800, 3)
y = torch.tanh(x @ torch.randn(3, 2))
hist = History()
sched = LRCallback(lambda o: torch.optim.lr_scheduler.ExponentialLR(o, gamma=0.8))
Trainer(nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 2)), [sched, hist]).fit(x, y, 12)
print(hist.losses[0], "->", hist.losses[-1])
