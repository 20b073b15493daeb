"""A variational autoencoder (Kingma and Welling, 2013) on the handwritten digits.

python vae.py [--epochs N] [--quick]
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F

DATA = Path(__file__).resolve().parent / "data" / "digits.csv.gz"


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc21 = nn.Linear(128, 8)
        self.fc22 = nn.Linear(128, 8)
        self.fc3 = nn.Linear(8, 128)
        self.fc4 = nn.Linear(128, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 64))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 64), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="one epoch")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    images = torch.from_numpy(np.loadtxt(DATA, delimiter=",", dtype=np.float32)[:, :64]) / 16
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(images), batch_size=64, shuffle=True
    )
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    start = time.time()
    for epoch in range(1, (1 if args.quick else args.epochs) + 1):
        model.train()
        train_loss = 0
        for batch_idx, (data,) in enumerate(loader):
            optimizer.zero_grad()
            recon_batch, mu, logvar = model(data)
            loss = loss_function(recon_batch, data, mu, logvar)
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
            if args.quick:
                print(f"batch {batch_idx:3d} loss {loss.item() / len(data):.4f}")
        print(f"====> epoch {epoch} average loss {train_loss / len(loader.dataset):.4f}")
    print(f"trained in {time.time() - start:.1f} s")
    with torch.no_grad():
        sample = model.decode(torch.randn(1, 8)).view(8, 8)
    for row in sample:
        print("".join(" .:-=+*#%@"[min(int(v * 10), 9)] for v in row))


if __name__ == "__main__":
    main()
