"""Augmented dataset read by several workers; each carries its own generator."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Jittered(Dataset):
    def __init__(self, n=64, seed=0):
        self.rng = np.random.default_rng(seed)  # BUG same-worker-seed
        base = np.random.default_rng(seed + 1)
        self.x = base.normal(size=(n, 4)).astype(np.float32)
        self.y = self.x.sum(1, keepdims=True)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        noise = self.rng.normal(scale=0.3, size=4).astype(np.float32)  # BUG same-worker-seed
        return self.x[i] + noise, self.y[i], noise


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(Jittered(), batch_size=8, num_workers=2, shuffle=True)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    drawn = []
    for epoch in range(3):
        for xb, yb, noise in loader:
            loss = nn.functional.mse_loss(net(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            drawn.append(noise)
        print(f"epoch {epoch} loss {loss.item():.4f}")
    drawn = torch.cat(drawn)
    print("noise vectors drawn", len(drawn), "different", len(torch.unique(drawn, dim=0)))
