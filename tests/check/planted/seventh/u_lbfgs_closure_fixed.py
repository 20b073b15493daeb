# Logistic calibration by L-BFGS, where step wants a closure
import torch
from torch import nn

torch.manual_seed(8)
score = torch.randn(1000, 1) * 3
y = torch.bernoulli(torch.sigmoid(0.4 * score - 1)).float()
calib = nn.Linear(1, 1)
opt = torch.optim.LBFGS(calib.parameters(), lr=0.5, max_iter=10)
loss_fn = nn.BCEWithLogitsLoss()


def compute_loss():
    return loss_fn(calib(score), y)


def closure():
    opt.zero_grad()
    loss = compute_loss()
    loss.backward()
    return loss


for outer in range(8):
    value = opt.step(closure)
    print(f"outer {outer} loss {value.item():.5f}")
print("slope", calib.weight.item(), "(true 0.4) offset", calib.bias.item(), "(true -1)")
