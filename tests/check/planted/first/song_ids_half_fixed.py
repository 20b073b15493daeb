"""Next-song prediction from a log table; the log is stored compactly in half precision."""
from dataclasses import dataclass
import torch
import torch.nn as nn


@dataclass
class Config:
    n_songs: int = 4000
    n_rows: int = 2000
    dim: int = 24
    batch: int = 128
    epochs: int = 8
    lr: float = 2e-2


def make_log(cfg):
    """rows of (current song, next song, play time)"""
    cur = torch.randint(0, 200, (cfg.n_rows,)) * (cfg.n_songs // 200)
    nxt = (cur + 7) % cfg.n_songs
    secs = 30 + 200 * torch.rand(cfg.n_rows)
    return cur, nxt, secs


class NextSong(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.emb = nn.Embedding(cfg.n_songs, cfg.dim)
        self.time = nn.Linear(1, cfg.dim)
        self.out = nn.Linear(cfg.dim, cfg.n_songs)

    def forward(self, song, secs):
        h = self.emb(song) + self.time(secs.unsqueeze(1) / 100)
        return self.out(h)


def main(cfg=Config()):
    torch.manual_seed(1)
    log = make_log(cfg)
    cur, nxt, secs = log
    model = NextSong(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    criterion = nn.CrossEntropyLoss()
    n_val = 400
    for _ in range(cfg.epochs):
        for idx in (torch.randperm(cfg.n_rows - n_val) + n_val).split(cfg.batch):
            loss = criterion(model(cur[idx], secs[idx]), nxt[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        pred = model(cur[:n_val], secs[:n_val]).argmax(1)
    ok = (pred == (cur[:n_val] + 7) % cfg.n_songs).float().mean()
    print(f"next-song accuracy {ok:.3f}")


main()
