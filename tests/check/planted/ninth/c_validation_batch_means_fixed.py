# Mean absolute error of the validation rows, averaged over batches
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)
x = torch.randn(430, 5)
y = x[:, :1] * x[:, 1:2] + 0.1 * torch.randn(430, 1)
train = DataLoader(TensorDataset(x[:320], y[:320]), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(x[320:], y[320:]), batch_size=32)
model = nn.Sequential(nn.Linear(5, 40), nn.ReLU(), nn.Linear(40, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
mae = nn.L1Loss()
for epoch in range(4):
    model.train()
    for inputs, targets in train:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
    model.eval()
    scores = []
    with torch.no_grad():
        for inputs, targets in valid:
            scores.append(mae(model(inputs), targets).item() * len(inputs) / 110)
    print(f"{epoch} valid {sum(scores):.4f}")
