import torch
import torch.nn as nn
import torch.nn.functional as F


class SGDWithDecay:
    """Plain gradient descent with decoupled weight decay."""

    def __init__(self, params, lr, decay=0.0):
        self.params = list(params)
        self.lr = lr
        self.decay = decay

    def zero_grad(self):
        for p in self.params:
            p.grad = None

    @torch.no_grad()
    def step(self):
        for p in self.params:
            if p.grad is None:
                continue
            p.mul_(1 - self.lr * self.decay)
            p.sub_(p.grad, alpha=self.lr)


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(5, 30)
        self.out = nn.Linear(30, 2)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))


def ellipsoid(n):
    x = torch.randn(n, 5)
    return x, ((x**2 * torch.tensor([1.0, 2.0, 0.2, 0.2, 1.0])).sum(1) > 3.5).long()


def main():
    torch.manual_seed(38)
    x, y = ellipsoid(1200)
    x_test, y_test = ellipsoid(400)
    model = Perceptron()
    optimizer = SGDWithDecay(model.parameters(), lr=0.5, decay=1e-4)
    for epoch in range(20):
        model.train()
        for idx in torch.randperm(1200).split(60):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        if epoch % 5 == 4:
            model.eval()
            with torch.no_grad():
                acc = (model(x_test).argmax(1) == y_test).float().mean().item()
            print(f"epoch {epoch + 1} loss {loss.item():.4f} test acc {acc:.3f}")


main()
