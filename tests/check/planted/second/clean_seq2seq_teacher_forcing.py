"""Sequence reversal with an encoder-decoder and scheduled teacher forcing."""
import random
import torch
from torch import nn

PAD, BOS, V, L = 0, 1, 10, 6
random.seed(0)
torch.manual_seed(0)


class Seq2Seq(nn.Module):
    def __init__(self, d=48):
        super().__init__()
        self.emb = nn.Embedding(V, d, padding_idx=PAD)
        self.enc = nn.GRU(d, d, batch_first=True)
        self.dec = nn.GRUCell(d, d)
        self.out = nn.Linear(d, V)

    def forward(self, src, tgt, force):
        _, h = self.enc(self.emb(src))
        h = h[-1]
        tok = torch.full((len(src),), BOS)
        outs = []
        for t in range(tgt.shape[1]):
            h = self.dec(self.emb(tok), h)
            logit = self.out(h)
            outs.append(logit)
            tok = tgt[:, t] if random.random() < force else logit.detach().argmax(1)
        return torch.stack(outs, 1)


def batch(n):
    src = torch.randint(2, V, (n, L))
    length = torch.randint(2, L + 1, (n, 1))
    keep = torch.arange(L) < length
    src = src * keep
    idx = (length - 1 - torch.arange(L)).clamp(min=0)
    return src, src.gather(1, idx) * keep


net = Seq2Seq()
opt = torch.optim.Adam(net.parameters(), lr=6e-3)
crit = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.05)
for step in range(250):
    src, tgt = batch(64)
    logits = net(src, tgt, force=max(0.3, 1 - step / 250))
    loss = crit(logits.transpose(1, 2), tgt)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
with torch.no_grad():
    src, tgt = batch(200)
    pred = net(src, tgt, force=0.0).argmax(-1)
    real = tgt != PAD
print("loss", loss.item(), "token acc", (pred == tgt)[real].float().mean().item())
