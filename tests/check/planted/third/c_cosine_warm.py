import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Regressor(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.a = nn.Linear(d, h)
        self.b = nn.Linear(h, h)
        self.c = nn.Linear(h, 1)

    def forward(self, x):
        return self.c(torch.tanh(self.b(torch.tanh(self.a(x))))).squeeze(-1)


def wave(n):
    x = 2 * torch.rand(n, 2) - 1
    return x, torch.sin(3 * x[:, 0]) * torch.cos(2 * x[:, 1])


x, y = wave(1000)
x_val, y_val = wave(200)
model = Regressor(2, 32)
epochs, batch_size = 10, 100
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(x) // batch_size)

for epoch in range(epochs):
    for idx in torch.randperm(len(x)).split(batch_size):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x[idx]), y[idx])
        loss.backward()
        scheduler.step()  # BUG scheduler-before-optimizer
        optimizer.step()  # BUG scheduler-before-optimizer
    if epoch % 3 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.4f}")

with torch.no_grad():
    print("val mse", F.mse_loss(model(x_val), y_val).item())
