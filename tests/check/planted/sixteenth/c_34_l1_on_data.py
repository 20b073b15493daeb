import torch
from torch import nn

torch.manual_seed(0)
n, d = 200, 40
X = torch.randn(n, d)
true_w = torch.zeros(d)
true_w[:4] = torch.tensor([2.0, -1.5, 1.0, 3.0])
y = X @ true_w + 0.5 * torch.randn(n)


class Lasso:
    def __init__(self, dim, lam=0.2, lr=0.02):
        self.linear = nn.Linear(dim, 1)
        self.lam = lam
        self.opt = torch.optim.SGD(self.linear.parameters(), lr=lr)

    def penalty(self):
        return self.lam * self.linear.weight.data.abs().sum()  # BUG gradient-cut|regularizer-no-grad

    def fit(self, x, t, steps):
        for s in range(steps):
            pred = self.linear(x).squeeze(1)
            mse = nn.functional.mse_loss(pred, t)
            loss = mse + self.penalty()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            if s % 100 == 99:
                print(f"step {s + 1} mse {mse.item():.4f} total {loss.item():.4f}")
        return self


model = Lasso(d).fit(X, y, 400)
w = model.linear.weight.detach().squeeze(0)
print("near-zero weights:", int((w.abs() < 0.02).sum()), "of", d)
print("weight L1 norm:", round(w.abs().sum().item(), 4), "true", true_w.abs().sum().item())
