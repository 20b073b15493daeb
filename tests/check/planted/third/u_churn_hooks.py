"""Customer churn classifier with a tiny hook-driven training loop."""
import torch
from torch import nn


def make_customers(n, generator):
    x = torch.randn(n, 10, generator=generator)
    risk = 1.2 * x[:, 0] - x[:, 1] + x[:, 2] * x[:, 3]
    noise = 0.3 * torch.randn(n, generator=generator)
    return x, (risk + noise > 0).float()


class Loop:
    def __init__(self, model, optimizer, loss_fn):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        # nobody has to remember to clear gradients by hand
        optimizer.register_step_pre_hook(lambda opt, args, kwargs: opt.zero_grad())  # BUG zero-between-backward-and-step

    def run(self, x, y, steps, batch_size):
        history = []
        for _ in range(steps):
            idx = torch.randperm(len(x))[:batch_size]
            score = self.model(x[idx]).squeeze(-1)
            loss = self.loss_fn(score, y[idx])
            loss.backward()
            self.optimizer.step()
            history.append(loss.item())
        return history


if __name__ == "__main__":
    torch.manual_seed(7)
    gen = torch.Generator().manual_seed(7)
    x, y = make_customers(800, gen)
    x_val, y_val = make_customers(200, gen)
    model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    history = Loop(model, optimizer, nn.BCEWithLogitsLoss()).run(x, y, steps=120, batch_size=64)
    print("first", history[0], "last", history[-1])
    with torch.no_grad():
        acc = ((model(x_val).squeeze(-1) > 0) == (y_val > 0.5)).float().mean()
    print("val accuracy", acc.item())
