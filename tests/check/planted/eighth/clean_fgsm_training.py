# Adversarial training: the gradient of the input is taken first, the parameters' gradients are cleared after it
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(14)
x = torch.rand(300, 16)
y = (x[:, :8].sum(1) > x[:, 8:].sum(1)).long()
net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 2))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(5):
    for rows in torch.randperm(300).split(50):
        a = x[rows].clone().requires_grad_()
        F.cross_entropy(net(a), y[rows]).backward()
        a = (a + 0.03 * a.grad.sign()).clamp(0, 1).detach()
        opt.zero_grad()
        loss = F.cross_entropy(net(a), y[rows])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
