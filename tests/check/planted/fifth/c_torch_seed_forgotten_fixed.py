"""Credit limits from 300 noisy customers, a reproducible experiment."""
import random
import numpy as np
import torch
from torch import nn


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def load_customers():
    x = np.random.normal(size=(300, 12)).astype("float32")
    y = (x[:, :4].sum(1) + np.random.normal(size=300) * 2).astype("float32")
    return torch.from_numpy(x), torch.from_numpy(y)


def main(seed=1234):
    set_seed(seed)
    x, y = load_customers()
    perm = torch.randperm(len(x))
    train, test = perm[:200], perm[200:]
    net = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(20):
        net.train()
        for idx in train[torch.randperm(200)].split(25):
            loss = nn.functional.mse_loss(net(x[idx]).squeeze(1), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    net.eval()
    with torch.no_grad():
        test_mse = nn.functional.mse_loss(net(x[test]).squeeze(1), y[test])
    print(f"seed {seed}: final train loss {loss.item():.6f} test mse {test_mse.item():.6f}")


if __name__ == "__main__":
    main()
