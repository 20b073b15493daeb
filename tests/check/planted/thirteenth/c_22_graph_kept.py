import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(31)


class TimeSeriesNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.linear(out[:, -1])


def windows(series, width=20):
    x = series.unfold(0, width, 1)[:-1].unsqueeze(-1)
    y = series[width:].unsqueeze(-1)
    return x, y


t = torch.arange(0, 700, dtype=torch.float32)
series = torch.sin(t / 8) + 0.4 * torch.sin(t / 3) + 0.05 * torch.randn(700)
x_train, y_train = windows(series[:560])
x_val, y_val = windows(series[560:])

loader = DataLoader(TensorDataset(x_train, y_train), batch_size=36, shuffle=True)
model = TimeSeriesNet()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(6):
    model.train()
    total_loss = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total_loss += loss * x.size(0)  # BUG graph-kept
    model.eval()
    with torch.no_grad():
        val = criterion(model(x_val), y_val)
    print(f"epoch {epoch} train {total_loss / len(x_train):.4f} val {val.item():.4f}")
