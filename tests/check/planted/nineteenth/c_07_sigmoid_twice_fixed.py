import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class MultiLabel(Dataset):
    """Synthetic tags: each is on if a linear score passes a threshold."""

    def __init__(self, n=320, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 20, generator=g)
        w = torch.randn(20, 6, generator=g)
        self.y = ((self.x @ w) > 1.5).float()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"features": self.x[i], "tags": self.y[i]}


class Head(nn.Module):
    def __init__(self, dim, tags):
        super().__init__()
        self.fc = nn.Linear(dim, tags)
        self.act = nn.Sigmoid()

    def forward(self, h):
        return self.fc(h)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.head = Head(32, 6)

    def forward(self, x):
        return self.head(self.backbone(x))


def main():
    torch.manual_seed(0)
    train = MultiLabel(seed=0)
    pos = train.y.mean(0)
    criterion = nn.BCEWithLogitsLoss(pos_weight=(1 - pos) / pos)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for epoch in range(5):
        for batch in DataLoader(train, batch_size=32, shuffle=True):
            logits = model(batch["features"])
            loss = criterion(logits, batch["tags"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
