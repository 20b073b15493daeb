import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(56)
BASE_LR, WARMUP, TOTAL = 3e-3, 20, 200


def schedule(step):
    if step < WARMUP:
        return (step + 1) / WARMUP
    progress = (step - WARMUP) / (TOTAL - WARMUP)
    return 0.5 * (1 + math.cos(math.pi * progress))


class Mixer(nn.Module):
    def __init__(self, tokens=8, dim=16):
        super().__init__()
        self.token = nn.Linear(tokens, tokens)
        self.channel = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, dim))
        self.head = nn.Linear(dim, 3)

    def forward(self, x):
        x = x + self.token(x.transpose(1, 2)).transpose(1, 2)
        x = x + self.channel(x)
        return self.head(x.mean(1))


model = Mixer()
optimizer = torch.optim.AdamW(model.parameters(), lr=BASE_LR)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=schedule)
w = torch.randn(16, 3)
for step in range(TOTAL):
    x = torch.randn(32, 8, 16)
    y = (x.mean(1) @ w).argmax(1)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 50 == 49:
        print(step, loss.item(), scheduler.get_last_lr())
