"""RNN name classifier with an NLLLoss criterion."""
import torch
from torch import nn


class NameRNN(nn.Module):
    def __init__(self, v=12, d=24, n_cls=3):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.fc = nn.Linear(d, n_cls)
        self.act = nn.LogSoftmax(dim=-1)

    def forward(self, ids):
        _, h = self.rnn(self.emb(ids))
        return self.act(self.fc(h[-1]))


def names(n, gen):
    y = torch.randint(0, 3, (n,), generator=gen)
    ids = torch.randint(3, 12, (n, 8), generator=gen)
    ids[:, -2] = y
    return ids, y


torch.manual_seed(0)
gen = torch.Generator().manual_seed(9)
net = NameRNN()
criterion = nn.NLLLoss()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(120):
    ids, y = names(32, gen)
    loss = criterion(net(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    ids, y = names(300, gen)
    print(f"loss {loss.item():.3f} acc {(net(ids).argmax(1) == y).float().mean():.3f}")
