import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    parser = argparse.ArgumentParser(description="autoencoder with gradient accumulation")
    parser.add_argument("--micro-batch", type=int, default=8)
    parser.add_argument("--accumulate", type=int, default=16)
    parser.add_argument("--lr", type=float, default=0.25)
    parser.add_argument("--epochs", type=int, default=12)
    return parser.parse_args()


class AutoEncoder(nn.Module):
    def __init__(self, n=16, code=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n, 32), nn.Tanh(), nn.Linear(32, code))
        self.decoder = nn.Sequential(nn.Linear(code, 32), nn.Tanh(), nn.Linear(32, n))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def main():
    args = get_args()
    torch.manual_seed(29)
    basis = torch.randn(4, 16)
    data = torch.randn(2304, 4) @ basis + 0.05 * torch.randn(2304, 16)
    train, test = data[:2048], data[2048:]
    loader = DataLoader(TensorDataset(train), batch_size=args.micro_batch, shuffle=True)
    model, criterion = AutoEncoder(), nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)  # BUG accumulation-not-scaled|lr-absurd

    for epoch in range(args.epochs):
        model.train()
        optimizer.zero_grad()
        for i, (x,) in enumerate(loader, start=1):
            loss = criterion(model(x), x)  # BUG accumulation-not-scaled|lr-absurd
            loss.backward()  # BUG accumulation-not-scaled|lr-absurd
            if i % args.accumulate == 0:
                optimizer.step()  # BUG accumulation-not-scaled|lr-absurd
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch} test reconstruction error {criterion(model(test), test).item():.4f}")


if __name__ == "__main__":
    main()
