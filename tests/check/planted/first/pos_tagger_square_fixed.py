"""Part-of-speech style tagger; sentences are padded to a fixed length."""
import torch
from torch import nn

MAX_LEN = N_TAGS = 10


class Tagger(nn.Module):
    def __init__(self, v=40, d=24):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.rnn = nn.LSTM(d, d, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * d, N_TAGS)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.out(h)


def batch(n):
    ids = torch.randint(0, 40, (n, MAX_LEN))
    return ids, ids % N_TAGS


torch.manual_seed(0)
net = Tagger()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for step in range(80):
    ids, tags = batch(32)
    logits = net(ids)
    loss = criterion(logits.transpose(1, 2), tags)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    ids, tags = batch(200)
    print(f"loss {loss.item():.3f} acc {(net(ids).argmax(-1) == tags).float().mean():.3f}")
