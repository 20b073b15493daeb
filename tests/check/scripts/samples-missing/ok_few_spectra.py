import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(20)
x = torch.randn(110, 20)
y = (x[:, :4].sum(1) > 0).long()
train = DataLoader(TensorDataset(x[:90], y[:90]), batch_size=16, shuffle=True, drop_last=True)
model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    for xb, yb in train:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        print(f"epoch {epoch} accuracy {(model(x[90:]).argmax(1) == y[90:]).float().mean():.3f}")
