"""Click prediction with embeddings of users and items."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Clicks(nn.Module):
    def __init__(self, users, items, width=8):
        super().__init__()
        self.users = nn.Embedding(users, width)
        self.items = nn.Embedding(items, width)
        self.mlp = nn.Sequential(nn.Linear(2 * width, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, u, i):
        return self.mlp(torch.cat([self.users(u), self.items(i)], 1)).squeeze(1)


def log(n, users=20, items=15):
    taste, kind = torch.randn(users, 3), torch.randn(items, 3)
    u, i = torch.randint(0, users, (n,)), torch.randint(0, items, (n,))
    p = torch.sigmoid(2 * (taste[u] * kind[i]).sum(1))
    return TensorDataset(u, i, torch.bernoulli(p))


def main():
    torch.manual_seed(35)
    data = log(600)
    model = Clicks(20, 15)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        total = 0.0
        for u, i, clicked in DataLoader(data, batch_size=60, shuffle=True):
            optimizer.zero_grad()
            loss = criterion(clicked, model(u, i))  # <- finding
            loss.backward()
            optimizer.step()
            total += loss.item() * len(u)
        print(f"epoch {epoch} loss {total / len(data):.3f}")


main()
