import torch
import torch.nn as nn
import torch.nn.functional as F
from dataclasses import dataclass


@dataclass
class Hparams:
    vocab: int = 16
    d_model: int = 32
    n_head: int = 4
    n_layer: int = 2
    seq: int = 10
    batch: int = 48
    steps: int = 120
    lr: float = 0.3  # BUG lr-absurd
    weight_decay: float = 0.01
    label_smoothing: float = 0.0


class Sorter(nn.Module):
    """Outputs the input tokens in sorted order."""

    def __init__(self, hp):
        super().__init__()
        self.emb = nn.Embedding(hp.vocab, hp.d_model)
        self.pos = nn.Embedding(hp.seq, hp.d_model)
        layer = nn.TransformerEncoderLayer(
            hp.d_model, hp.n_head, 2 * hp.d_model, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, hp.n_layer, enable_nested_tensor=False)
        self.head = nn.Linear(hp.d_model, hp.vocab)
        self.register_buffer("ids", torch.arange(hp.seq), persistent=False)

    def forward(self, x):
        return self.head(self.enc(self.emb(x) + self.pos(self.ids)))


def sample(hp, n):
    x = torch.randint(0, hp.vocab, (n, hp.seq))
    return x, x.sort(dim=1).values


def train(hp):
    torch.manual_seed(0)
    model = Sorter(hp)
    opt = torch.optim.AdamW(model.parameters(), lr=hp.lr, weight_decay=hp.weight_decay)  # BUG lr-absurd
    model.train()
    for step in range(hp.steps):
        x, y = sample(hp, hp.batch)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), label_smoothing=hp.label_smoothing)
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.3f}")
    return model


hp = Hparams()
model = train(hp).eval()
with torch.no_grad():
    x, y = sample(hp, 256)
    acc = (model(x).argmax(-1) == y).float().mean().item()
print(f"final token acc {acc:.3f}")
