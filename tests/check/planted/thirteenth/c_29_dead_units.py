import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class TemperatureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 32)
        self.fc2 = nn.Linear(32, 32)
        self.fc3 = nn.Linear(32, 1)
        self.act = nn.ReLU()

    def forward(self, x):
        x = self.act(self.fc1(x))
        x = self.act(self.fc2(x))
        return self.act(self.fc3(x))  # BUG dead-units


def winter(n, seed):
    rng = np.random.default_rng(seed)
    hour, cloud, wind = rng.uniform(0, 24, n), rng.uniform(0, 1, n), rng.uniform(0, 10, n)
    celsius = -4 + 3 * np.sin((hour - 9) / 24 * 2 * np.pi) + 1.5 * cloud - 0.2 * wind + rng.normal(0, 0.3, n)
    x = np.stack([hour / 12 - 1, cloud * 2 - 1, wind / 5 - 1], axis=1)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(celsius, dtype=torch.float32).unsqueeze(1)


torch.manual_seed(100)
x_train, y_train = winter(900, 1)
x_test, y_test = winter(200, 2)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=30, shuffle=True)
model = TemperatureNet()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
print(f"variance of the targets {y_test.var().item():.3f}")
for epoch in range(10):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(x), y)  # BUG dead-units
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        pred = model(x_test)
    print(f"epoch {epoch} test mse {loss_fn(pred, y_test).item():.3f} prediction mean {pred.mean().item():.3f}")
