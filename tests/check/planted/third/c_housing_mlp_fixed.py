import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

# synthetic housing table: eight standardised columns, log price as the target
n, d = 512, 8
x = torch.randn(n, d)
w = torch.randn(d)
price = x @ w + 0.5 * torch.sin(3 * x[:, 0]) + 0.1 * torch.randn(n)

train = DataLoader(TensorDataset(x[:384], price[:384]), batch_size=64, shuffle=True)
x_val, y_val = x[384:], price[384:]

model = nn.Sequential(nn.Linear(d, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(15):
    total = 0.0
    for xb, yb in train:
        pred = model(xb)
        loss = ((pred.squeeze(1) - yb) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
    if epoch % 5 == 4:
        with torch.no_grad():
            mae = (model(x_val).squeeze(1) - y_val).abs().mean()
        print(f"epoch {epoch}: mse {total / len(train.dataset):.3f}  val mae {mae:.3f}")
