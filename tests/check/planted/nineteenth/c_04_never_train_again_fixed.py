from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    seed: int = 11
    vocab: int = 40
    dim: int = 24
    steps: int = 40
    val_every: int = 10
    lr: float = 5e-3


class TextClassifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.emb = nn.Embedding(cfg.vocab, cfg.dim)
        self.drop = nn.Dropout(0.4)
        self.rnn = nn.GRU(cfg.dim, cfg.dim, batch_first=True)
        self.out = nn.Linear(cfg.dim, 3)

    def forward(self, tokens):
        h, _ = self.rnn(self.drop(self.emb(tokens)))
        return self.out(self.drop(h.mean(1)))


def batch_of(cfg, n, gen):
    y = torch.randint(0, 3, (n,), generator=gen)
    t = torch.randint(0, cfg.vocab, (n, 12), generator=gen)
    t[:, ::3] = (y * 5)[:, None] + torch.randint(0, 5, (n, 4), generator=gen)
    return t, y


def validate(model, val):
    model.eval()
    with torch.no_grad():
        logits = model(val[0])
    acc = (logits.argmax(1) == val[1]).float().mean().item()
    model.train()
    return acc


def run(cfg):
    torch.manual_seed(cfg.seed)
    gen = torch.Generator().manual_seed(cfg.seed)
    model = TextClassifier(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    val = batch_of(cfg, 100, gen)
    model.train()
    for step in range(1, cfg.steps + 1):
        x, y = batch_of(cfg, 32, gen)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % cfg.val_every == 0:
            print(step, loss.item(), validate(model, val))


if __name__ == "__main__":
    run(Config())
