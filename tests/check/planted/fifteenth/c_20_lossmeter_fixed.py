"""Image autoencoder with an average meter for the loss."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class AverageMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum = 0.0
        self.count = 0

    def update(self, value, n=1):
        self.sum += value * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Flatten(), nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 6))
        self.dec = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 64))

    def forward(self, x):
        return self.dec(self.enc(x)).view_as(x)


torch.manual_seed(0)
basis = torch.randn(6, 64)
images = (torch.randn(800, 6) @ basis / 3).view(-1, 1, 8, 8)
loader = DataLoader(TensorDataset(images), batch_size=40, shuffle=True)
model = AutoEncoder()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
meter = AverageMeter()
for epoch in range(5):
    meter.reset()
    for (x,) in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), x)
        loss.backward()
        opt.step()
        meter.update(loss.item(), x.size(0))
    print(f"epoch {epoch}: reconstruction {meter.avg:.5f}")
