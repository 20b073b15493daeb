import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# url features: length, digits, dots, age of the domain, ...
n = 1200
features = torch.randn(n, 9)
logit = 2.0 * features[:, 0] - 1.5 * features[:, 3] + features[:, 5] * features[:, 6]
is_phishing = (logit + 0.5 * torch.randn(n) > 0).float()

# shuffle before cutting off the test rows
order = torch.randperm(n)
features, is_phishing = features[order], is_phishing[order]
train_set = TensorDataset(features[:960], is_phishing[:960])
x_test, y_test = features[960:], is_phishing[960:]
loader = DataLoader(train_set, batch_size=64, shuffle=True)

model = nn.Sequential(nn.Linear(9, 16), nn.Tanh(), nn.Linear(16, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(10):
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(x)
    if epoch % 3 == 0:
        print(f"epoch {epoch}: loss {running / 960:.4f}")

with torch.no_grad():
    acc = ((model(x_test).squeeze(1) > 0).float() == y_test).float().mean().item()
print(f"test accuracy {acc:.3f}")
