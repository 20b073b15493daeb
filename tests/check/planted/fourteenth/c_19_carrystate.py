import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ParityGRU(nn.Module):
    """Classifies which of four motifs opened the sequence."""

    def __init__(self, d_in=4, hidden=32, n_cls=4):
        super().__init__()
        self.rnn = nn.GRU(d_in, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, n_cls)
        self.state = None

    def reset(self):
        self.state = None

    def forward(self, x):
        out, h = self.rnn(x, self.state)
        self.state = h.detach()
        return self.fc(out[:, -1])


def data(n, seed, T=3):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = torch.randn(n, T, 4, generator=g) * 0.5
    x[torch.arange(n), 0, y] += 1.0
    return TensorDataset(x, y)


def evaluate(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            model.reset()
            right += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return right / total


def train(epochs=10, bs=50):
    torch.manual_seed(6)
    tr = DataLoader(data(500, 0), batch_size=bs, shuffle=True)
    te = DataLoader(data(300, 1), batch_size=bs)
    model = ParityGRU()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for ep in range(epochs):
        model.train()
        model.reset()  # BUG state-carried-over
        for x, y in tr:  # BUG state-carried-over
            loss = F.cross_entropy(model(x), y)  # BUG state-carried-over
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
        print(f"epoch {ep} loss {loss.item():.3f} acc {evaluate(model, te):.3f}")
    return loss.item(), evaluate(model, te)


loss, acc = train()
print(f"final loss {loss:.3f} acc {acc:.3f}")
