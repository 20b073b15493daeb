import torch
from torch import nn

torch.manual_seed(7)
raw = torch.randn(500, 6) * torch.tensor([1.0, 10.0, 100.0, 5.0, 50.0, 2.0]) + 20
price = raw[:, 0] + 0.01 * raw[:, 2] + 0.1 * torch.randn(500)
scaled = (raw - raw.mean(0)) / raw.std(0)  # BUG data-leak
x_train, x_test = scaled[:400], scaled[400:]
y_train, y_test = price[:400], price[400:]

model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(10):
    model.train()
    for rows in torch.randperm(400).split(50):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x_train[rows]), y_train[rows])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, "test", nn.functional.mse_loss(model(x_test), y_test).item())
