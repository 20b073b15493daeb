import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
x = torch.randn(240, 30)
w = torch.randn(30)
y = ((x @ w + 3.0 * torch.randn(240)) > 0).float()
train_set = TensorDataset(x[:80], y[:80])
val_x, val_y = x[80:160], y[80:160]
test_x, test_y = x[160:], y[160:]
loader = DataLoader(train_set, batch_size=16, shuffle=True)

model = nn.Sequential(nn.Linear(30, 64), nn.Tanh(), nn.Linear(64, 1))
loss_fn = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)


def evaluate(x, y):
    model.eval()
    with torch.no_grad():
        return loss_fn(model(x).squeeze(1), y).item()


best_loss, best_state = float("inf"), None
for epoch in range(40):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb).squeeze(1), yb)
        loss.backward()
        optimizer.step()
    val_loss = evaluate(val_x, val_y)
    if val_loss < best_loss:
        best_loss = val_loss
        best_state = model.state_dict()  # BUG snapshot-aliased

model.load_state_dict(best_state)
print("best val", best_loss, "restored val", evaluate(val_x, val_y), "test", evaluate(test_x, test_y))
