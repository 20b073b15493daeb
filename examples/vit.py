"""A vision transformer (Dosovitskiy et al., 2020) on the handwritten digits.

python vit.py [--epochs N] [--quick]
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

DATA = Path(__file__).resolve().parent / "data" / "digits.csv.gz"


class ViT(nn.Module):
    def __init__(self, image=8, patch=2, dim=32, depth=2, heads=4, classes=10):
        super().__init__()
        self.to_patch = nn.Conv2d(1, dim, kernel_size=patch, stride=patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.empty(1, (image // patch) ** 2 + 1, dim).normal_(std=0.02))
        layer = nn.TransformerEncoderLayer(
            dim, heads, 4 * dim, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(
            layer, depth, norm=nn.LayerNorm(dim), enable_nested_tensor=False
        )
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.to_patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.pos
        return self.head(self.encoder(x)[:, 0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="20 steps")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    table = np.loadtxt(DATA, delimiter=",", dtype=np.int64)
    data = TensorDataset(
        torch.from_numpy(table[:, :64]).float().view(-1, 1, 8, 8) / 16,
        torch.from_numpy(table[:, 64].copy()),
    )
    train, test = random_split(data, [0.8, 0.2])
    loader = DataLoader(train, batch_size=64, shuffle=True)
    model = ViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    criterion = nn.CrossEntropyLoss()
    start, step = time.time(), 0
    for epoch in range(1 if args.quick else args.epochs):
        model.train()
        total = 0.0
        for images, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
            step += 1
            if args.quick:
                print(f"step {step:3d} loss {loss.item():.4f}")
                if step == 20:
                    break
        print(f"epoch {epoch + 1} loss {total / len(loader):.4f}")
    print(f"{step} steps in {time.time() - start:.1f} s")
    model.eval()
    images, labels = next(iter(DataLoader(test, batch_size=len(test))))
    with torch.inference_mode():
        print(f"test accuracy {(model(images).argmax(1) == labels).float().mean().item():.2%}")


if __name__ == "__main__":
    main()
