import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def make_churn(n=600):
    x = torch.randn(n, 8)
    score = 1.5 * x[:, 0] - x[:, 3] + 0.5 * x[:, 5] * x[:, 1]
    y = (score + 0.3 * torch.randn(n) > 0).float()
    return x, y


class ChurnNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


x, y = make_churn()
loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
model = ChurnNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(8):
    running = 0.0
    for xb, yb in loader:
        loss = criterion(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * xb.size(0)
    print(f"epoch {epoch}: loss {running / len(x):.4f}")
