import torch
import torch.nn as nn

torch.manual_seed(3)


class RBFLayer(nn.Module):
    """Gaussian bumps with learned centres and widths."""

    def __init__(self, d, units):
        super().__init__()
        self.centres = nn.Parameter(torch.rand(units, d))
        self.log_width = nn.Parameter(torch.zeros(units))

    def forward(self, x):
        d2 = (x[:, None] - self.centres).pow(2).sum(-1)
        return torch.exp(-d2 / (2 * self.log_width.exp() ** 2))


model = nn.Sequential(RBFLayer(2, 16), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
X = torch.rand(600, 2) * 6 - 3
Y = (torch.sin(2 * X[:, 0]) * torch.cos(X[:, 1])).unsqueeze(1)
start = {k: v.clone() for k, v in model.state_dict().items()}
for epoch in range(60):
    for idx in torch.randperm(500).split(50):
        loss = nn.functional.mse_loss(model(X[idx]), Y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    print("test mse", round(nn.functional.mse_loss(model(X[500:]), Y[500:]).item(), 4), "variance", round(Y.var().item(), 4))
for k, v in model.state_dict().items():
    print(k, "moved by", round((v - start[k]).abs().max().item(), 4))
