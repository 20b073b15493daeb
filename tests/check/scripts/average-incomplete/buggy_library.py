import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(55)
y = torch.randint(0, 3, (400,))
x = torch.randn(3, 8)[y] * 2 + torch.randn(400, 8) + 4
loader = DataLoader(TensorDataset(x[:300], y[:300]), 30, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
swa = AveragedModel(model)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(8):
    model.train()
    for xb, yb in loader:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch >= 4:
        swa.update_parameters(model)
swa.eval()
with torch.no_grad():
    print("accuracy", (swa(x[300:]).argmax(1) == y[300:]).float().mean().item())  # <- finding
