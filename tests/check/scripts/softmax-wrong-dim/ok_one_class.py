import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(20)
x = torch.randn(400, 6)
label = torch.zeros(400, dtype=torch.long)
label[x[:, 0] + x[:, 1] > 0] = 1
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
criterion = nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    for xb, yb in DataLoader(TensorDataset(x, label), 40, shuffle=True):
        loss = criterion(model(xb), yb.unsqueeze(1).float())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
