"""Monte-Carlo dropout: predictive uncertainty of a regression net."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(),
                                 nn.Dropout(0.1), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


def enable_mc_dropout(model):
    model.eval()
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()


torch.manual_seed(0)
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(250):
    x = torch.rand(64, 1) * 4 - 2
    loss = nn.functional.mse_loss(model(x), torch.sin(2 * x))
    opt.zero_grad()
    loss.backward()
    opt.step()
enable_mc_dropout(model)
grid = torch.linspace(-4, 4, 50).unsqueeze(1)
with torch.no_grad():
    draws = torch.stack([model(grid) for _ in range(30)])
inside = grid.abs().squeeze() < 2
print("mse inside", (draws.mean(0) - torch.sin(2 * grid))[inside].pow(2).mean().item(),
      "std inside", draws.std(0)[inside].mean().item(), "outside", draws.std(0)[~inside].mean().item())
