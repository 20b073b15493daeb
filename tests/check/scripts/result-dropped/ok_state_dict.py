import torch
from torch import nn


def encoder():
    return nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())


torch.manual_seed(28)
x = torch.randn(400, 12)
auto = nn.Sequential(encoder(), nn.Linear(16, 12))
opt = torch.optim.Adam(auto.parameters(), lr=3e-3)
for step in range(40):
    i = torch.randint(0, 400, (64,))
    loss = nn.functional.mse_loss(auto(x[i]), x[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
pretrained = {k: v for k, v in auto[0].state_dict().items()}

body = encoder()
body.load_state_dict(pretrained)
model = nn.Sequential(body, nn.Linear(16, 2))
y = (x[:, 0] * x[:, 1] > 0).long()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    for i in torch.randperm(400).split(40):
        loss = nn.functional.cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
