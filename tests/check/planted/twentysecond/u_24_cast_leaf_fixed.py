import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.alpha = nn.Parameter(torch.zeros(8))

    def forward(self, x):
        return x + torch.tanh(self.alpha) * self.fc(x)


X = torch.randn(256, 8)
Y = X * 1.5 + 0.1
net = Gate()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    for i in range(0, 256, 32):
        loss = F.mse_loss(net(X[i : i + 32]), Y[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
