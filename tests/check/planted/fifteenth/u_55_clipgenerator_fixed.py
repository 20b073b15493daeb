"""Seq2seq: reverse a sequence, with gradient clipping."""
import torch
from torch import nn


class Reverser(nn.Module):
    def __init__(self, vocab=12, d=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.enc = nn.GRU(d, d, batch_first=True)
        self.dec = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, vocab)

    def forward(self, src, tgt_in):
        _, h = self.enc(self.embed(src))
        y, _ = self.dec(self.embed(tgt_in), h)
        return self.out(y)


def trainable(model):
    return [p for p in model.parameters() if p.requires_grad]


def batch(n, length=5):
    src = torch.randint(1, 12, (n, length))
    tgt = src.flip(1)
    start = torch.zeros(n, 1, dtype=torch.long)
    return src, torch.cat([start, tgt[:, :-1]], dim=1), tgt


def main():
    torch.manual_seed(0)
    model = Reverser()
    params = trainable(model)
    opt = torch.optim.SGD(params, lr=0.5)
    for step in range(80):
        src, tgt_in, tgt = batch(32)
        logits = model(src, tgt_in)
        loss = nn.functional.cross_entropy(logits.reshape(-1, 12), tgt.reshape(-1))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 0.25)
        opt.step()
        if step % 20 == 19:
            print(step, loss.item())


main()
