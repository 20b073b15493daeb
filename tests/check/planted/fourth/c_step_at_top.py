import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# 1-d spectra of three minerals
axis = torch.linspace(0, 1, 40)
peaks = torch.tensor([[0.2, 0.7], [0.35, 0.6], [0.25, 0.85]])
y = torch.randint(0, 3, (600,))
spectra = sum(torch.exp(-((axis - peaks[y, k:k + 1]) ** 2) / 0.004) for k in range(2))
spectra = spectra + 0.4 * torch.randn(600, 40)
train_loader = DataLoader(TensorDataset(spectra[:480], y[:480]), batch_size=40, shuffle=True)
x_val, y_val = spectra[480:], y[480:]

model = nn.Sequential(nn.Linear(40, 32), nn.Tanh(), nn.Linear(32, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = StepLR(optimizer, step_size=3, gamma=0.3)

for epoch in range(9):
    scheduler.step()  # BUG scheduler-before-optimizer
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(x_val).argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.4f} loss {loss.item():.3f} acc {acc:.3f}")
