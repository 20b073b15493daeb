# Jacobian regularisation that does not regularise
import torch
from torch import nn

torch.manual_seed(45)
x = torch.randn(256, 4)
y = torch.sin(2 * x[:, :1])
model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def jacobian_penalty(model, inputs):
    inputs = inputs.clone().requires_grad_(True)
    out = model(inputs).sum()
    slope, = torch.autograd.grad(out, inputs)  # BUG gradient-cut
    return slope.pow(2).sum(1).mean()


for epoch in range(5):
    for rows in torch.randperm(256).split(32):
        fit = nn.functional.mse_loss(model(x[rows]), y[rows])
        loss = fit + 0.01 * jacobian_penalty(model, x[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, fit.item())
