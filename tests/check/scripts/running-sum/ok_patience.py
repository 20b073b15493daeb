import torch
from torch import nn

torch.manual_seed(7)
x = torch.randn(400, 6)
y = (x[:, 0] * x[:, 1] + 0.3 * torch.randn(400)).unsqueeze(1)
model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
best, bad, patience = float("inf"), 0, 4
for epoch in range(40):
    for idx in torch.randperm(320).split(16):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(x[320:]), y[320:]).item()
    if val < best:
        best = val
        bad = 0
    else:
        bad += 1
        if bad >= patience:
            print(f"stopped at {epoch}")
            break
print(f"best {best:.4f}")
