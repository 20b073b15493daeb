"""Warm-up then cosine decay by LambdaLR."""
import math
from functools import partial

import torch
from torch import nn


def warmup_cosine(step, base_lr, warmup, total):
    if step < warmup:
        return base_lr * (step + 1) / warmup  # BUG lr-absurd
    progress = (step - warmup) / (total - warmup)
    return base_lr * 0.5 * (1 + math.cos(math.pi * progress))  # BUG lr-absurd


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.rnn = nn.GRU(16, 24, batch_first=True)
        self.out = nn.Linear(24, 2)

    def forward(self, ids):
        return self.out(self.rnn(self.embed(ids))[1][-1])


torch.manual_seed(0)
ids = torch.randint(0, 50, (640, 12))
labels = (ids[:, -3:] < 12).any(dim=1).long()
model = Model()
BASE_LR, EPOCHS, BATCH = 4e-3, 5, 32
total = EPOCHS * (640 // BATCH)
opt = torch.optim.AdamW(model.parameters(), lr=BASE_LR)
schedule = torch.optim.lr_scheduler.LambdaLR(opt, partial(warmup_cosine, base_lr=BASE_LR, warmup=10, total=total))  # BUG lr-absurd
for epoch in range(EPOCHS):
    running = 0.0
    for idx in torch.randperm(640).split(BATCH):
        loss = nn.functional.cross_entropy(model(ids[idx]), labels[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        schedule.step()
        running += loss.item()
    print(epoch, running / 20)
