"""Word-level language model, GRU with tied weights."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class GRULM(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.dec = nn.Linear(dim, vocab)
        self.dec.weight = self.emb.weight
        nn.init.normal_(self.emb.weight, std=0.1)

    def forward(self, x, state=None):
        h = self.emb(x)
        h, state = self.gru(h, state)
        h = F.dropout(h, p=0.25, training=self.training)
        return self.dec(h), state


def batchify(ids, columns):
    n = len(ids) // columns
    return ids[:n * columns].view(columns, n)


def detach(state):
    return None if state is None else state.detach()


torch.manual_seed(0)
vocab, bptt = 24, 15
ids = torch.cumsum(torch.randint(1, 4, (3600,)), 0) % vocab
train, valid = batchify(ids[:3000], 20), batchify(ids[3000:], 4)
model = GRULM(vocab, 32)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    model.train()
    state = None
    for i in range(0, train.size(1) - 1, bptt):
        x = train[:, i:i + bptt]
        y = train[:, i + 1:i + 1 + x.size(1)]
        x = x[:, :y.size(1)]
        state = detach(state)
        logits, state = model(x, state)
        loss = F.cross_entropy(logits.reshape(-1, vocab), y.reshape(-1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    model.eval()
    with torch.no_grad():
        logits, _ = model(valid[:, :-1])
        ppl = F.cross_entropy(logits.reshape(-1, vocab), valid[:, 1:].reshape(-1)).exp()
    print(epoch, loss.item(), ppl.item())
