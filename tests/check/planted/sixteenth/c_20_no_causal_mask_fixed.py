import torch
from torch import nn


class MiniGPT(nn.Module):
    def __init__(self, vocab=16, d=32, heads=4, max_len=32):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Embedding(max_len, d)
        self.attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 64), nn.GELU(), nn.Linear(64, d))
        self.head = nn.Linear(d, vocab)

    def forward(self, idx):
        T = idx.size(1)
        x = self.tok(idx) + self.pos(torch.arange(T))
        h = self.ln1(x)
        mask = torch.triu(torch.ones(T, T, dtype=torch.bool), diagonal=1)
        a, _ = self.attn(h, h, h, attn_mask=mask, need_weights=False)
        x = x + a
        return self.head(x + self.ff(self.ln2(x)))


torch.manual_seed(0)
model = MiniGPT()
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)


def random_batch(bs=16, T=13):
    seq = torch.randint(0, 16, (bs, T))
    for t in range(1, T):
        follow = torch.rand(bs) < 0.5
        seq[follow, t] = (seq[follow, t - 1] + 3) % 16
    return seq


for step in range(200):
    seq = random_batch()
    logits = model(seq[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 16), seq[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(f"step {step + 1} loss {loss.item():.4f} (uniform 2.7726)")

with torch.no_grad():
    seq = random_batch(200)
    last = model(seq[:, :-1])[:, -1]
    print("last-token loss", nn.functional.cross_entropy(last, seq[:, -1]).item())
