import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# loan default, about a quarter of the rows is positive
x = torch.randn(1000, 6)
latent = 1.2 * x[:, 0] - 0.9 * x[:, 2] + 0.6 * x[:, 4] * x[:, 5] - 1.2
y = (latent + 0.8 * torch.randn(1000) > 0).float()
train_loader = DataLoader(TensorDataset(x[:800], y[:800]), batch_size=50, shuffle=True)
x_test, y_test = x[800:], y[800:]

model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def evaluate():
    with torch.no_grad():
        out = model(x_test).squeeze(1)  # BUG logits-as-probs
        predicted = (out > 0.5).float()  # BUG logits-as-probs
    tp = (predicted * y_test).sum()
    precision = tp / predicted.sum().clamp(min=1)
    recall = tp / y_test.sum()
    return (predicted == y_test).float().mean().item(), precision.item(), recall.item()


for epoch in range(10):
    for xb, yb in train_loader:
        loss = criterion(model(xb).squeeze(1), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print("epoch", epoch, "acc %.3f precision %.3f recall %.3f" % evaluate())
