"""Wine-like classifier with validation in batches."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


def wines(n):
    y = torch.randint(0, 3, (n,))
    x = torch.randn(n, 8)
    x[:, :3] += 1.2 * F.one_hot(y, 3)
    return TensorDataset(x, y)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct, seen = 0, 0
    for x, y in loader:
        predicted = model(x).argmax(1)
        correct += (predicted == y).sum().item()
        seen += len(y)
        return correct / seen  # <- finding


def train(model, loader, optimizer):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(36)
    train_loader = DataLoader(wines(300), batch_size=30, shuffle=True)
    valid_loader = DataLoader(wines(150), batch_size=30)
    model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(5):
        loss = train(model, train_loader, optimizer)
        print(f"epoch {epoch} loss {loss:.3f} accuracy {evaluate(model, valid_loader):.3f}")


if __name__ == "__main__":
    main()
