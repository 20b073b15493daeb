import copy

import torch
from torch import nn

torch.manual_seed(8)
x_tr, x_va = torch.randn(60, 15), torch.randn(200, 15)
w = torch.zeros(15)
w[:3] = 1.0
y_tr = x_tr @ w + 0.8 * torch.randn(60)
y_va = x_va @ w + 0.8 * torch.randn(200)

model = nn.Sequential(nn.Linear(15, 128), nn.ReLU(), nn.Linear(128, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)


def val_loss():
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x_va).squeeze(1), y_va).item()


best_val, best_state, best_epoch = float("inf"), None, -1
for epoch in range(100):
    model.train()
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x_tr).squeeze(1), y_tr)
    loss.backward()
    opt.step()
    v = val_loss()
    if v < best_val:
        best_val, best_epoch = v, epoch
        best_state = copy.deepcopy(model.state_dict())
    if epoch % 25 == 0:
        print(f"epoch {epoch} train {loss.item():.4f} val {v:.4f}")

model.load_state_dict(best_state)
print(f"best epoch {best_epoch} recorded {best_val:.4f} restored model {val_loss():.4f}")
