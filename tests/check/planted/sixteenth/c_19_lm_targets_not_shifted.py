import torch
from torch import nn


class TinyLM(nn.Module):
    def __init__(self, vocab, d=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.rnn = nn.LSTM(d, d, batch_first=True)
        self.out = nn.Linear(d, vocab)

    def forward(self, idx):
        h, _ = self.rnn(self.emb(idx))
        return self.out(h)


def build_corpus(n):
    pattern = [1, 4, 2, 8, 5, 7]
    return torch.tensor([pattern[i % 6] for i in range(n)])


def get_batch(corpus, block, bs):
    ix = torch.randint(0, len(corpus) - block - 1, (bs,))
    x = torch.stack([corpus[i:i + block] for i in ix])
    y = torch.stack([corpus[i:i + block] for i in ix])  # BUG target-shift|label-not-shifted|target-visible
    return x, y


torch.manual_seed(0)
corpus = build_corpus(500)
lm = TinyLM(10)
opt = torch.optim.Adam(lm.parameters(), lr=1e-2)
for step in range(80):
    xb, yb = get_batch(corpus, 12, 16)
    logits = lm(xb)
    loss = nn.functional.cross_entropy(logits.reshape(-1, 10), yb.reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(f"step {step + 1} loss {loss.item():.4f}")

seq = corpus[:6].tolist()
lm.eval()
with torch.no_grad():
    for _ in range(12):
        nxt = lm(torch.tensor([seq]))[0, -1].argmax().item()
        seq.append(nxt)
print("generated", seq, "want", corpus[:18].tolist())
