import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(28)
x = torch.randn(510, 7)
y = torch.sin(x[:, :1]) + x[:, 1:2]
train_loader = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)
val_loader = DataLoader(TensorDataset(x[400:], y[400:]), batch_size=50)
net = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
criterion = nn.MSELoss()
for epoch in range(6):
    net.train()
    for a, b in train_loader:
        optimizer.zero_grad()
        criterion(net(a), b).backward()
        optimizer.step()
    net.eval()
    val_loss = 0.0
    with torch.no_grad():
        for a, b in val_loader:
            val_loss += criterion(net(a), b).item()  # BUG partial-batch-mean
    val_loss /= len(val_loader)  # BUG partial-batch-mean
    print(f"{epoch}: {val_loss:.4f}")
