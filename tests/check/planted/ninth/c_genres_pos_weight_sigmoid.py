"""Multi-label genres of songs; rare genres get a larger weight."""
import torch
from torch import nn


def build_head(hidden, labels):
    return nn.Sequential(
        nn.Linear(hidden, hidden),
        nn.GELU(),
        nn.Linear(hidden, labels),
        nn.Sigmoid(),  # BUG sigmoid-before-bce-logits
    )


torch.manual_seed(3)
audio = torch.randn(256, 20)
genres = (audio[:, :8] + 0.3 * torch.randn(256, 8) > 0.8).float()
positive = genres.sum(0)
weight = (len(genres) - positive) / positive.clamp(min=1)

backbone = nn.Sequential(nn.Linear(20, 40), nn.GELU())
head = build_head(40, 8)
params = list(backbone.parameters()) + list(head.parameters())
opt = torch.optim.AdamW(params, lr=3e-3)
loss_fn = nn.BCEWithLogitsLoss(pos_weight=weight)
for epoch in range(8):
    for rows in torch.randperm(256).split(32):
        opt.zero_grad()
        loss = loss_fn(head(backbone(audio[rows])), genres[rows])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
