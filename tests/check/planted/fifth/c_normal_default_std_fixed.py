"""Deep regressor for engine torque with its own initialisation."""
import torch
from torch import nn

torch.manual_seed(43)


class TorqueNet(nn.Module):
    def __init__(self, d_in=8, width=100, depth=6):
        super().__init__()
        dims = [d_in] + [width] * depth
        layers = []
        for a, b in zip(dims[:-1], dims[1:]):
            layers += [nn.Linear(a, b), nn.ReLU()]
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))
        self.reset_parameters()

    def reset_parameters(self):
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
                nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.net(x).squeeze(-1)


x = torch.randn(600, 8)
torque = torch.relu(x[:, 0]) + x[:, 1] * 0.5 - torch.relu(x[:, 2] - x[:, 3])
net = TorqueNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(12):
    for idx in torch.randperm(500).split(50):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x[idx]), torque[idx])
        loss.backward()
        gnorm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
        opt.step()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} loss {loss.item():.4g} grad norm {gnorm.item():.3g}")
with torch.no_grad():
    print("test mse", nn.functional.mse_loss(net(x[500:]), torque[500:]).item(), "variance", torque[500:].var().item())
