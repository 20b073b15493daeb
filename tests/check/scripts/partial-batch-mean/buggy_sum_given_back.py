import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
def make(n):
    x = torch.randn(n, 5)
    return TensorDataset(x, x.sum(1, keepdim=True))
train, valid = DataLoader(make(128), batch_size=32, shuffle=True), DataLoader(make(70), batch_size=32)
model = nn.Linear(5, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
mse = nn.MSELoss()
def evaluate(loader):
    return sum(mse(model(x), y).item() for x, y in loader)
for epoch in range(3):
    model.train()
    for x, y in train:
        opt.zero_grad()
        loss = mse(model(x), y)
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        avg = evaluate(valid) / len(valid)  # <- finding
    print(avg)
