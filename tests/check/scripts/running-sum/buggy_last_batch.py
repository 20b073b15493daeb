import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            accuracy = (model(x).argmax(1) == y).float().mean()  # <- finding
    return accuracy.item()


torch.manual_seed(18)
y = torch.randint(0, 3, (600,))
x = torch.randn(3, 6)[y] + torch.randn(600, 6)
train = DataLoader(TensorDataset(x[:400], y[:400]), 40, shuffle=True)
test = DataLoader(TensorDataset(x[400:], y[400:]), 32)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(4):
    model.train()
    for xb, yb in train:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, evaluate(model, test))
