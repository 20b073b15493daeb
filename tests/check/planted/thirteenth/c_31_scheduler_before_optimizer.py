import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR


def noam(step, warmup=40):
    step = step + 1
    return min(step / warmup, (warmup / step) ** 0.5)


class TinyTransformer(nn.Module):
    def __init__(self, vocab=12, dim=32, length=8):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(length, dim) * 0.1)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, dim))
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.tok(ids) + self.pos
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return self.out(x + self.ff(self.norm2(x)))


def batch(n, gen):
    ids = torch.randint(0, 12, (n, 8), generator=gen)
    return ids, ids.sort(dim=1).values


def main():
    torch.manual_seed(2024)
    gen = torch.Generator().manual_seed(2024)
    model = TinyTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3)
    scheduler = LambdaLR(optimizer, noam)
    loss_fn = nn.CrossEntropyLoss()
    for step in range(240):
        model.train()
        ids, target = batch(64, gen)
        loss = loss_fn(model(ids).transpose(1, 2), target)
        optimizer.zero_grad()
        loss.backward()
        scheduler.step()  # BUG scheduler-before-optimizer
        optimizer.step()  # BUG scheduler-before-optimizer
        if step % 40 == 39:
            model.eval()
            with torch.no_grad():
                ids, target = batch(200, gen)
                acc = (model(ids).argmax(-1) == target).float().mean().item()
            print(f"step {step + 1} lr {scheduler.get_last_lr()[0]:.5f} loss {loss.item():.3f} sorted {acc:.3f}")


main()
