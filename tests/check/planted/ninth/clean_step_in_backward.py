# The optimizer runs inside backward, parameter by parameter, to save memory
import torch
from torch import nn

torch.manual_seed(118)
x = torch.randn(256, 6)
y = (x[:, 0] > 0.2).float()
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
optimizers = {p: torch.optim.AdamW([p], lr=3e-3) for p in model.parameters()}


def step(p):
    optimizers[p].step()
    optimizers[p].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(step)
for epoch in range(4):
    for rows in torch.randperm(256).split(32):
        loss = nn.functional.binary_cross_entropy_with_logits(model(x[rows]), y[rows])
        loss.backward()
    print(epoch, loss.item())
