"""At the minimum gradients are tiny, and so are the steps of a sound learning rate; an input is optimized in large steps."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 3)
model = nn.Linear(3, 1)
with torch.no_grad():
    y = model(x) + 1e-7
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(20):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()

for p in model.parameters():
    p.requires_grad_(False)
image = (0.01 * torch.randn(2, 3)).requires_grad_()
ascent = torch.optim.Adam([image], lr=0.5)
for _ in range(8):
    ascent.zero_grad()
    score = -model(image).mean() + 0.01 * image.pow(2).sum()
    score.backward()
    ascent.step()
print(loss.item(), score.item())
