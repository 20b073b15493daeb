import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)


class Regressor(nn.Module):
    def __init__(self, d=12, h=64, p=0.5):
        super().__init__()
        self.p = p
        self.l1 = nn.Linear(d, h)
        self.l2 = nn.Linear(h, h)
        self.l3 = nn.Linear(h, 1)

    def forward(self, x):
        x = torch.relu(self.l1(x))
        x = nn.Dropout(self.p)(x)  # BUG functional-dropout-always-on
        x = torch.relu(self.l2(x))
        return self.l3(x).squeeze(-1)


x = torch.randn(500, 12)
y = x[:, 0] * x[:, 1] + x[:, 2]
train = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=50, shuffle=True)
model = Regressor()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
mse = nn.MSELoss()
for epoch in range(12):
    model.train()
    for xb, yb in train:
        opt.zero_grad()
        loss = mse(model(xb), yb)
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        a = mse(model(x[400:]), y[400:]).item()
        b = mse(model(x[400:]), y[400:]).item()
    print(epoch, loss.item(), a, b)
