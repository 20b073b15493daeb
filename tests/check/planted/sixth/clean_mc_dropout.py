import torch
import torch.nn as nn

torch.manual_seed(1)


class Reg(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


def mc_predict(model, x, samples=40):
    """Monte-Carlo dropout: only the dropout layers are made stochastic, on purpose."""
    model.eval()
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()
    with torch.no_grad():
        draws = torch.stack([model(x) for _ in range(samples)])
    model.eval()
    return draws.mean(0), draws.std(0)


x = torch.rand(300, 1) * 4 - 2
y = torch.sin(2 * x) + 0.05 * torch.randn_like(x)
model = Reg()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(200):
    model.train()
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
grid = torch.tensor([[-1.0], [0.0], [1.0], [6.0]])
mean, std = mc_predict(model, grid)
print("train mse", round(loss.item(), 4))
for g, m, s in zip(grid, mean, std):
    print(f"x={g.item():+.1f} mean {m.item():+.3f} std {s.item():.3f}")
