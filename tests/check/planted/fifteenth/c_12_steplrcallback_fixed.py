"""Callback-style training loop with a step decay."""
import torch
from torch import nn


class Callback:
    def on_batch_end(self, **kw):
        pass

    def on_epoch_end(self, **kw):
        pass


class LRDecay(Callback):
    """Divide the learning rate by ten every 2 epochs."""

    def __init__(self, optimizer):
        self.scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)

    def on_epoch_end(self, **kw):
        self.scheduler.step()


class Printer(Callback):
    def on_epoch_end(self, epoch, loss, **kw):
        print(f"epoch {epoch}: loss {loss:.4f}")


def fit(model, opt, data, epochs, callbacks):
    x, y = data
    for epoch in range(epochs):
        running, batches = 0.0, 0
        for idx in torch.randperm(len(x)).split(32):
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
            batches += 1
            for c in callbacks:
                c.on_batch_end(loss=loss.item())
        for c in callbacks:
            c.on_epoch_end(epoch=epoch, loss=running / batches)


torch.manual_seed(9)
x = torch.randn(640, 10)
y = (x[:, 0] + x[:, 1] ** 2 > 1).long()
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
fit(model, opt, (x, y), 6, [LRDecay(opt), Printer()])
