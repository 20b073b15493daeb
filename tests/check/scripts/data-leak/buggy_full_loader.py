import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)

# coffee origin from a few noisy chemical measurements
n, d, origins = 400, 24, 4
profile = 0.5 * torch.randn(origins, d)
origin = torch.randint(0, origins, (n,))
samples = profile[origin] + torch.randn(n, d)
dataset = TensorDataset(samples, origin)

indices = torch.randperm(n).tolist()
train_set = Subset(dataset, indices[:320])
val_set = Subset(dataset, indices[320:])
train_loader = DataLoader(dataset, batch_size=40, shuffle=True)  # <- finding
val_loader = DataLoader(val_set, batch_size=40)
print(len(train_set), "training rows,", len(val_set), "validation rows")

model = nn.Sequential(nn.Linear(d, 64), nn.Tanh(), nn.Linear(64, origins))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def accuracy(loader):
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


for epoch in range(15):
    for x, y in train_loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {loss.item():.3f} val accuracy {accuracy(val_loader):.3f}")
