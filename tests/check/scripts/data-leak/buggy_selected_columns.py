import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(37)
genes = torch.randn(120, 3000)
outcome = torch.randint(0, 2, (120,)).float()


def top_features(x, y, k=30):
    xc = x - x.mean(0)
    yc = y - y.mean()
    corr = (xc * yc[:, None]).mean(0) / (xc.std(0) * yc.std())
    return corr.abs().topk(k).indices


keep = top_features(genes, outcome)  # <- finding
x = genes[:, keep]
x_train, y_train = x[:80], outcome[:80]
x_test, y_test = x[80:], outcome[80:]
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=20, shuffle=True)
model = nn.Linear(30, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
bce = nn.BCEWithLogitsLoss()
for epoch in range(20):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = bce(model(xb).squeeze(1), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = ((model(x_test).squeeze(1) > 0) == (y_test > 0.5)).float().mean().item()
print("loss", loss.item(), "test accuracy", acc)
