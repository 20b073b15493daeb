import torch
from torch import nn


class Heteroscedastic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.ReLU())
        self.mean, self.log_std = nn.Linear(32, 1), nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), self.log_std(h).exp()


torch.manual_seed(51)
x = torch.randn(400, 3)
y = x.sum(1, keepdim=True) + x[:, :1].abs() * torch.randn(400, 1)
model = Heteroscedastic()
nll = nn.GaussianNLLLoss()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for i in torch.randperm(400).split(40):
        mean, std = model(x[i])
        loss = nll(mean, y[i], std**2)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item(), std.mean().item())
