import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
rng = np.random.default_rng(0)

# three years of daily temperature, predict tomorrow from the last 20 days
days = np.arange(1100)
temperature = 10 + 8 * np.sin(2 * np.pi * days / 365) + np.convolve(
    rng.normal(size=1104), np.ones(5) / 5, mode="valid")
series = torch.tensor((temperature - 10) / 6, dtype=torch.float32)
windows = series.unfold(0, 21, 1)
train, test = windows[:800], windows[830:]


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 16, batch_first=True)
        self.fc = nn.Linear(16, 1)

    def forward(self, x):
        out, _ = self.lstm(x.unsqueeze(-1))
        return self.fc(out[:, -1]).squeeze(-1)


model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.MSELoss()
losses = []

for epoch in range(4):
    for batch in train[torch.randperm(len(train))].split(40):
        loss = criterion(model(batch[:, :-1]), batch[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    mean = sum(losses[-20:]) / 20
    print(f"epoch {epoch} mean loss {float(mean):.4f}")

with torch.no_grad():
    error = criterion(model(test[:, :-1]), test[:, -1]).item()
print("best training loss", float(min(losses)), "test mse", error)
