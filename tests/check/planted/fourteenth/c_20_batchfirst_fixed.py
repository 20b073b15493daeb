import torch
import torch.nn as nn
import torch.nn.functional as F


def sine_windows(n, T=24, seed=0):
    g = torch.Generator().manual_seed(seed)
    freq = 0.2 + 0.6 * torch.rand(n, 1, generator=g)
    phase = 6.28 * torch.rand(n, 1, generator=g)
    t = torch.arange(T + 1).float()
    s = torch.sin(freq * t + phase) + 0.05 * torch.randn(n, T + 1, generator=g)
    return s[:, :-1, None], s[:, -1:]


class Forecaster(nn.Module):
    def __init__(self, hidden=32, layers=1):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1, :])


class Experiment:
    def __init__(self, lr=1e-2, epochs=12, bs=40):
        torch.manual_seed(0)
        self.model = Forecaster()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.epochs, self.bs = epochs, bs
        self.train = sine_windows(400, seed=1)
        self.test = sine_windows(200, seed=2)

    def one_epoch(self):
        x, y = self.train
        total = 0.0
        self.model.train()
        for idx in torch.randperm(len(x)).split(self.bs):
            loss = F.mse_loss(self.model(x[idx]), y[idx])
            self.opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.opt.step()
            total += loss.item() * len(idx)
        return total / len(x)

    @torch.no_grad()
    def score(self):
        self.model.eval()
        x, y = self.test
        return F.mse_loss(self.model(x), y).item()

    def fit(self):
        for ep in range(self.epochs):
            l = self.one_epoch()
            if ep % 4 == 0:
                print(f"{ep} train {l:.4f} test {self.score():.4f}")
        return self.score()


if __name__ == "__main__":
    print(f"final test mse {Experiment().fit():.4f}")
