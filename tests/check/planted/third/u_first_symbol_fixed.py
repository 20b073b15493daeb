"""Remember the first symbol of a noisy sequence (recurrent network, tanh cells)."""
import torch
from torch import nn


class Recall(nn.Module):
    def __init__(self, symbols, hidden=32):
        super().__init__()
        self.symbols = symbols
        self.rnn = nn.RNN(symbols + 1, hidden, nonlinearity="tanh", batch_first=True)
        self.readout = nn.Linear(hidden, symbols)
        for p in self.rnn.parameters():
            nn.init.orthogonal_(p) if p.dim() == 2 else nn.init.zeros_(p)

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.readout(states[:, -1])


def batch(n, symbols, length, generator):
    first = torch.randint(0, symbols, (n,), generator=generator)
    x = torch.zeros(n, length, symbols + 1)
    x[torch.arange(n), 0, first] = 1.0
    x[:, 1:, -1] = 0.1 * torch.randn(n, length - 1, generator=generator)
    return x, first


def main(symbols=6, length=15, steps=150):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Recall(symbols)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for step in range(steps):
        x, y = batch(64, symbols, length, generator)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {loss.item():.4f}")
    with torch.no_grad():
        x, y = batch(256, symbols, length, generator)
        print("recall", (model(x).argmax(1) == y).float().mean().item())


if __name__ == "__main__":
    main()
