# Wind power from weather, a helper that does one step
import torch
import torch.nn as nn


def make_model():
    return nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))


def train_step(model, optimizer, x, y):
    loss = nn.functional.smooth_l1_loss(model(x), y)
    loss.backward()  # BUG missing-zero-grad
    optimizer.step()  # BUG missing-zero-grad
    return loss.item()


torch.manual_seed(11)
x = torch.randn(400, 6)
y = (x[:, :1] ** 2 + x[:, 1:2]).clamp(min=0)
model = make_model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
for epoch in range(6):
    losses = [train_step(model, optimizer, x[i:i + 40], y[i:i + 40]) for i in range(0, 400, 40)]
    scheduler.step()
    print(epoch, sum(losses) / len(losses))
