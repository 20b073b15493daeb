import torch
from torch import nn

torch.manual_seed(0)


class CharGRU(nn.Module):
    def __init__(self, vocab=12, d=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, vocab)

    def forward(self, ids):
        out, _ = self.gru(self.emb(ids))
        return self.head(out)


def sample_batch(bs=16, length=20):
    start = torch.randint(0, 12, (bs, 1))
    seq = (start + torch.arange(length + 1) * 5) % 12
    return seq[:, :-1], seq[:, 1:]


model = CharGRU()
opt = torch.optim.SGD(model.parameters(), lr=3.0)
max_norm = 0.25
for step in range(60):
    src, tgt = sample_batch()
    opt.zero_grad()
    logits = model(src)
    loss = nn.functional.cross_entropy(logits.reshape(-1, 12), tgt.reshape(-1))
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # BUG clip-order|clip-before-backward|clipping-without-effect
    loss.backward()  # BUG clip-order|clip-before-backward|clipping-without-effect
    used = torch.stack([p.grad.norm() for p in model.parameters()]).norm().item()
    opt.step()
    if step in (0, 2, 4, 6, 8, 20, 40, 59):
        print(f"step {step} loss {loss.item():.4f} grad norm used {used:.3f}")
