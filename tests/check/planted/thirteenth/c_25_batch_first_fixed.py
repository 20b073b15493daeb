import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

p = argparse.ArgumentParser()
p.add_argument("--hidden", type=int, default=32)
p.add_argument("--epochs", type=int, default=12)
p.add_argument("--lr", type=float, default=1e-2)
args = p.parse_args()

torch.manual_seed(42)


class FirstOrLast(nn.Module):
    def __init__(self, n_features, hidden, n_out):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, n_out)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1, :])


def generate(n, steps=10):
    """Class 1 when the running sum of the first channel ends above zero."""
    x = torch.randn(n, steps, 3)
    y = (x[:, :, 0].sum(dim=1) > 0).long()
    return x, y


x, y = generate(800)
x_test, y_test = generate(200)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = FirstOrLast(3, args.hidden, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

for epoch in range(args.epochs):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}, test accuracy {accuracy:.3f}")
