import torch
from torch import nn

torch.manual_seed(0)
protos = (torch.rand(6, 30) > 0.5).float()
model = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 30))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(120):
    x = protos[torch.randint(0, 6, (64,))]
    corrupted = x * (torch.rand(64, 30) > 0.3).float()
    optimizer.zero_grad()
    loss = criterion(model(corrupted), x)
    loss.backward()
    optimizer.step()
print(loss.item())
