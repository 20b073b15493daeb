import numpy as np
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
def loss_batch(model, x, y, opt=None):
    loss = mse(model(x), y)
    if opt is not None:
        loss.backward()
        opt.step()
        opt.zero_grad()
    return loss.item(), len(x)
for epoch in range(3):
    model.train()
    for x, y in train:
        loss_batch(model, x, y, opt)
    model.eval()
    with torch.no_grad():
        losses, nums = zip(*[loss_batch(model, x, y) for x, y in valid])
    print(epoch, np.mean(losses))  # <- finding
