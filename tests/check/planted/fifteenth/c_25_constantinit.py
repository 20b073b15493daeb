"""Regression with custom weight initialisation chosen by name."""
import torch
from torch import nn

INITS = {
    "xavier": nn.init.xavier_uniform_,
    "normal": lambda w: nn.init.normal_(w, std=0.02),
    "small": lambda w: nn.init.constant_(w, 0.01),  # BUG loss-at-chance
}


def init_weights(model, scheme="small"):  # BUG loss-at-chance
    for m in model.modules():
        if isinstance(m, nn.Linear):
            INITS[scheme](m.weight)  # BUG loss-at-chance
            nn.init.zeros_(m.bias)


class Net(nn.Module):
    def __init__(self, d_in, hidden):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(d_in, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1)
        )
        init_weights(self)

    def forward(self, x):
        return self.layers(x).squeeze(-1)


torch.manual_seed(0)
x = torch.rand(600, 3) * 4 - 2
y = torch.sin(x[:, 0]) * x[:, 1] + x[:, 2]
net = Net(3, 32)
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(8):
    total = 0.0
    for idx in torch.randperm(600).split(50):
        loss = nn.functional.mse_loss(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    print(epoch, total / 600)
