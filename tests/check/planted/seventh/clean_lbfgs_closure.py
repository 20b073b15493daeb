# L-BFGS: zero_grad and backward live in the closure, none in the loop
import torch
from torch import nn

torch.manual_seed(15)
x = torch.linspace(0, 1, 80, dtype=torch.float64).unsqueeze(1)
y = torch.exp(-3 * x) * torch.cos(8 * x)
net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1)).double()
opt = torch.optim.LBFGS(net.parameters(), lr=0.8, max_iter=15, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    return loss


for outer in range(6):
    loss = opt.step(closure)
    print("outer", outer, "loss", loss.item())
with torch.no_grad():
    error = (net(x) - y).abs()
    print("largest error", error.max().item())

print("done")
