# Calibration: after training only a temperature is fitted, on validation rows, the model in evaluation mode
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(15)
x = torch.randn(500, 8)
y = (x[:, 0] + 0.7 * torch.randn(500) > 0).long()
net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
net.train()
for epoch in range(6):
    for rows in torch.randperm(300).split(30):
        opt.zero_grad()
        F.cross_entropy(net(x[rows]), y[rows]).backward()
        opt.step()
net.eval()
with torch.no_grad():
    scores = net(x[300:400])
log_t = torch.zeros((), requires_grad=True)
lbfgs = torch.optim.LBFGS([log_t], lr=0.1, max_iter=20)


def closure():
    lbfgs.zero_grad()
    loss = F.cross_entropy(scores / log_t.exp(), y[300:400])
    loss.backward()
    return loss


lbfgs.step(closure)
with torch.no_grad():
    print(log_t.exp().item(), F.cross_entropy(net(x[400:]) / log_t.exp(), y[400:]).item())
