import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class TempNet(nn.Module):
    """Predicts tomorrow's temperature in degrees Celsius (scaled)."""

    def __init__(self, d_in, widths=(32, 32)):
        super().__init__()
        self.layers = nn.ModuleList()
        last = d_in
        for w in widths:
            self.layers.append(nn.Linear(last, w))
            last = w
        self.out = nn.Linear(last, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return torch.relu(self.out(x)).squeeze(-1)  # BUG output-activation|relu-output|dead-units


torch.manual_seed(0)
X = torch.randn(600, 5)
temp = 1.2 * X[:, 0] - 0.7 * X[:, 1] + 0.1 * torch.randn(600) - 0.2
loader = DataLoader(TensorDataset(X, temp), batch_size=60, shuffle=True)
net = TempNet(5)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(12):
    se = 0.0
    for xb, tb in loader:
        loss = nn.functional.mse_loss(net(xb), tb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        se += loss.item() * len(xb)
    if epoch % 3 == 2:
        print(f"epoch {epoch} mse {se / 600:.4f}")
with torch.no_grad():
    print("min prediction", net(X).min().item(), "min target", temp.min().item())
