import torch
from torch import nn

torch.manual_seed(0)
n = 600
x = torch.randn(n, 5)
price = torch.exp(8 + x @ torch.randn(5) * 0.5)
train, test = slice(0, 480), slice(480, None)
model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
loss_fn = nn.MSELoss()
for epoch in range(30):
    for idx in torch.randperm(480).split(48):
        optimizer.zero_grad()
        loss = loss_fn(model(x[idx]).squeeze(1), torch.log(price[idx]))
        loss.backward()
        optimizer.step()
model.eval()
with torch.no_grad():
    mae = (model(x[test]).squeeze(1).exp() - price[test]).abs().mean()
print("mean absolute error", mae.item())
