import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(90)


def spiral(n):
    y = torch.randint(0, 2, (n,))
    t = torch.rand(n) * 7 + 0.5
    angle = t + y.float() * 3.1416
    return torch.stack([t * angle.cos(), t * angle.sin()], 1) / 4 + 0.2 * torch.randn(n, 2), y


def train_epoch(model, optimizer, x, y):
    model.train()
    for idx in torch.randperm(len(x)).split(25):
        optimizer.zero_grad()
        F.cross_entropy(model(x[idx]), y[idx]).backward()
        optimizer.step()


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


x, y = spiral(1000)
x_val, y_val = spiral(300)
model = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-2)
best_loss, best_model, since = float("inf"), None, 0

for epoch in range(30):
    train_epoch(model, optimizer, x, y)
    val_loss, val_acc = evaluate(model, x_val, y_val)
    if val_loss < best_loss:
        best_loss, since = val_loss, 0
        best_model = copy.deepcopy(model)
    else:
        since += 1
    if since == 2:
        # back to the best point, with a smaller step
        model.load_state_dict(best_model.state_dict())
        for group in optimizer.param_groups:
            group["lr"] *= 0.7
        since = 0
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} val loss {val_loss:.4f} acc {val_acc:.3f} lr {optimizer.param_groups[0]['lr']:.5f}")
