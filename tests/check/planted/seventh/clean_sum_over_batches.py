# Mean over batches of unequal size, weighted right: reduction="sum" and one division
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(14)
x = torch.randn(333, 5)
y = x[:, 0] - x[:, 2]
loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
model = nn.Sequential(nn.Linear(5, 1), nn.Flatten(0))
opt = torch.optim.Adam(model.parameters(), lr=0.03)

for epoch in range(10):
    model.train()
    for xb, yb in loader:
        opt.zero_grad()
        nn.functional.mse_loss(model(xb), yb).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        sse = sum(nn.functional.mse_loss(model(xb), yb, reduction="sum").item() for xb, yb in loader)
    if epoch % 3 == 0:
        n = len(loader.dataset)
        print("epoch", epoch, "mse", sse / n)

print("done")
