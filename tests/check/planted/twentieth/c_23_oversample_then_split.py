"""Fraud detection with a rare class, balanced by repetition."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def transactions(n=500):
    x = torch.randn(n, 8)
    fraud = ((x[:, 0] + x[:, 1] > 2.0) | (x[:, 2] > 2.2)).long()
    return x, fraud


def balance(x, y):
    positive = (y == 1).nonzero().squeeze(1)
    negative = (y == 0).nonzero().squeeze(1)
    repeats = positive[torch.randint(len(positive), (len(negative),))]
    index = torch.cat([negative, repeats])
    return x[index], y[index]


class FraudNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2)
        )

    def forward(self, x):
        return self.net(x)


def evaluate(model, loader):
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
    return right / len(loader.dataset)


torch.manual_seed(6)
x, y = transactions()
x, y = balance(x, y)  # BUG data-leak
dataset = TensorDataset(x, y)
n_train = int(0.8 * len(dataset))
train_set, val_set = random_split(dataset, [n_train, len(dataset) - n_train])  # BUG data-leak
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
val_loader = DataLoader(val_set, batch_size=64)
model = FraudNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(4):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), evaluate(model, val_loader))
