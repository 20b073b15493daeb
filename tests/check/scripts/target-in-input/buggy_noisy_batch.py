import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
images = torch.rand(320, 1, 8, 8).round()
loader = DataLoader(TensorDataset(images), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    for (batch,) in loader:
        batch = batch + 0.3 * torch.randn_like(batch)
        optimizer.zero_grad()
        out = model(batch)
        loss = criterion(out, batch)  # <- finding
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
