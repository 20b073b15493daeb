from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    hidden: int = 64
    epochs: int = 6
    batch_size: int = 32
    lr: float = 1.5e-3
    weight_decay: float = 1e-4


def build(cfg):
    return nn.Sequential(
        nn.Linear(6, cfg.hidden), nn.ReLU(),
        nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU(),
        nn.Linear(cfg.hidden, 4),
    )


def main(cfg):
    torch.manual_seed(0)
    x = torch.randn(512, 6)
    y = (x[:, 0] > 0).long() * 2 + (x[:, 1] + x[:, 2] > 0).long()
    dl = DataLoader(TensorDataset(x, y), batch_size=cfg.batch_size, shuffle=True)
    model = build(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    for epoch in range(cfg.epochs):
        loss_sum = correct = 0
        for xb, yb in dl:
            logits = model(xb)
            loss = nn.functional.cross_entropy(logits, yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            loss_sum += loss.item() * len(yb)
            correct += (logits.argmax(1) == yb).sum().item()
        print(f"epoch {epoch} loss {loss_sum / 512:.4f} acc {correct / 512:.3f}")


if __name__ == "__main__":
    main(Config())
