import torch
import torch.nn as nn
import warnings

warnings.filterwarnings("ignore")
torch.manual_seed(2)
X = torch.randn(512, 16)
Y = torch.tanh(X[:, :4].sum(1, keepdim=True)) + 0.05 * torch.randn(512, 1)

model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))
EPOCHS = 6
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 4], gamma=0.05)
mse = nn.MSELoss()

# first epoch is meant to run with the full learning rate
for epoch in range(EPOCHS):
    scheduler.step()  # BUG scheduler-before-optimizer
    for xb, yb in zip(X.split(32), Y.split(32)):
        optimizer.zero_grad()
        loss = mse(model(xb), yb)
        loss.backward()
        optimizer.step()
    lr = optimizer.param_groups[0]["lr"]
    with torch.no_grad():
        full = mse(model(X), Y).item()
    print(f"epoch {epoch} lr {lr:.5f} loss {full:.4f}")
