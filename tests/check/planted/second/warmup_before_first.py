"""Transformer with linear warm-up and decay."""
import torch
from torch import nn


def make_sched(opt, warm, total):
    def f(step):
        return (step + 1) / warm if step < warm else max(0.05, (total - step) / (total - warm))
    return torch.optim.lr_scheduler.LambdaLR(opt, f)


class Clf(nn.Module):
    def __init__(self, v=16, d=24):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.enc = nn.TransformerEncoderLayer(d, 4, 48, dropout=0.0, batch_first=True)
        self.fc = nn.Linear(d, 3)

    def forward(self, ids):
        return self.fc(self.enc(self.emb(ids)).mean(1))


def batch(n):
    ids = torch.randint(3, 16, (n, 9))
    y = torch.randint(0, 3, (n,))
    ids[torch.arange(n), torch.randint(0, 9, (n,))] = y
    return ids, y


torch.manual_seed(0)
net, total = Clf(), 150
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
sched = make_sched(opt, 15, total)
for step in range(total):
    sched.step()  # BUG scheduler-before-optimizer
    ids, y = batch(32)
    loss = nn.functional.cross_entropy(net(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    ids, y = batch(300)
    print("acc", (net(ids).argmax(1) == y).float().mean().item())
