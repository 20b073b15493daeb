"""Adding problem with an Elman RNN: sum of two marked numbers in a sequence."""
import torch
from torch import nn


def adding(n, T=20):
    v = torch.rand(n, T)
    m = torch.zeros(n, T)
    m[torch.arange(n), torch.randint(0, T // 2, (n,))] = 1
    m[torch.arange(n), torch.randint(T // 2, T, (n,))] = 1
    return torch.stack([v, m], -1), (v * m).sum(1, keepdim=True)


class Adder(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.rnn = nn.RNN(2, hidden, nonlinearity="relu", batch_first=True)
        self.out = nn.Linear(hidden, 1)
        for name, p in self.rnn.named_parameters():
            if "weight_hh" in name:
                nn.init.eye_(p).data.mul_(1.8)  # BUG exploding-gradient
            elif "bias" in name:
                nn.init.zeros_(p)
            else:
                nn.init.normal_(p, std=0.05)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1])


def main(steps=300):
    torch.manual_seed(8)
    net = Adder()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    ema = None
    for step in range(steps):
        x, y = adding(32)
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema = loss.item() if ema is None else 0.95 * ema + 0.05 * loss.item()
        if step % 40 == 0:
            print(f"{step:4d} {ema:.4g}")
    print(f"final smoothed mse {ema:.4g} (predicting the mean gives 0.167)")


if __name__ == "__main__":
    main()
