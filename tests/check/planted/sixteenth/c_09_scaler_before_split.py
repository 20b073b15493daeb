import numpy as np
import torch
from torch import nn


class StandardScaler:
    def fit(self, a):
        self.mean = a.mean(axis=0)
        self.std = a.std(axis=0) + 1e-8
        return self

    def transform(self, a):
        return (a - self.mean) / self.std


def load_sensor_data(n=400):
    rng = np.random.default_rng(7)
    drift = np.linspace(0, 3, n)[:, None]
    x = rng.normal(size=(n, 6)) + drift
    y = (x[:, 0] - x[:, 1] + 0.2 * rng.normal(size=n) > 0).astype(np.int64)
    return x.astype(np.float32), y


X, y = load_sensor_data()
split = int(0.75 * len(X))
scaler = StandardScaler()
X = scaler.fit(X).transform(X)  # BUG data-leak|preprocessing-leak
X_train, X_test = X[:split], X[split:]  # BUG data-leak|preprocessing-leak
y_train, y_test = y[:split], y[split:]

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
xt, yt = torch.from_numpy(X_train), torch.from_numpy(y_train)
for step in range(60):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(xt), yt)
    loss.backward()
    opt.step()
model.eval()
with torch.no_grad():
    out = model(torch.from_numpy(X_test))
    acc = (out.argmax(1) == torch.from_numpy(y_test)).float().mean().item()
    test_loss = nn.functional.cross_entropy(out, torch.from_numpy(y_test)).item()
print(f"train loss {loss.item():.4f} test loss {test_loss:.4f} test acc {acc:.3f}")
