import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 10)
y = (x[:, :3].sum(1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
ACCUMULATE = 2

model = nn.Linear(10, 2)
start = model.weight.detach().clone()
opt = torch.optim.Adam(model.parameters(), lr=0.05)


def epoch_loop():
    opt.zero_grad()
    for i, (xb, yb) in enumerate(loader, start=1):
        loss = nn.functional.cross_entropy(model(xb), yb) / ACCUMULATE
        loss.backward()
        if i % ACCUMULATE == 0 or i == len(loader):
            opt.step()
            opt.zero_grad()
    return loss.item() * ACCUMULATE


for epoch in range(15):
    value = epoch_loop()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "loss", round(value, 4))
print("accuracy", (model(x).argmax(1) == y).float().mean().item())
print("weights moved by", (model.weight - start).norm().item())
