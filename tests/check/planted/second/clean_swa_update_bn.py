"""Stochastic weight averaging with a batch-norm update."""
import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(900, 8)
y = (x[:, 0] * x[:, 1] > 0).long()
loader = DataLoader(TensorDataset(x[:700], y[:700]), 50, shuffle=True)
net = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 2))
swa = AveragedModel(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
sched = SWALR(opt, swa_lr=0.03, anneal_epochs=2)
for epoch in range(14):
    for xb, yb in loader:
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch >= 8:
        swa.update_parameters(net)
        sched.step()
update_bn(loader, swa)
swa.eval()
with torch.no_grad():
    print("loss", loss.item(), "val acc of the average", (swa(x[700:]).argmax(1) == y[700:]).float().mean().item())
