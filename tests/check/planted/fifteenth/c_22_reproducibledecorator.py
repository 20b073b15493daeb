"""Denoising autoencoder with a 'reproducible' decorator."""
import functools
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def reproducible(seed):
    def wrap(fn):
        @functools.wraps(fn)
        def inner(*args, **kwargs):
            random.seed(seed)  # BUG same-mask
            np.random.seed(seed)  # BUG same-mask
            torch.manual_seed(seed)  # BUG same-mask
            return fn(*args, **kwargs)
        return inner
    return wrap


@reproducible(1234)  # BUG same-mask
def train_epoch(model, loader, opt):
    model.train()
    total = 0.0
    for (clean,) in loader:
        noisy = clean + 0.5 * torch.randn_like(clean)
        loss = nn.functional.mse_loss(model(noisy), clean)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total / len(loader)


def main():
    data = torch.randn(600, 4) @ torch.randn(4, 20)
    loader = DataLoader(TensorDataset(data), batch_size=30, shuffle=True)
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 20))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(5):
        print(epoch, train_epoch(model, loader, opt))


if __name__ == "__main__":
    main()
