import io

import torch
from torch import nn

torch.manual_seed(25)
x = torch.randn(320, 10)
y = x[:, :3].sum(1, keepdim=True).sin()


def fit(model, opt, epochs, target):
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(320).split(32):
            loss = nn.functional.mse_loss(model(x[idx]), target[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"lr {opt.param_groups[0]['lr']:.0e} loss {total / 10:.4f}")


model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
fit(model, opt, 3, y)
file = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": opt.state_dict()}, file)
file.seek(0)

ckpt = torch.load(file)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
model.load_state_dict(ckpt["model"])
opt = torch.optim.Adam(model.parameters(), lr=1e-4)
fit(model, opt, 3, y + 0.1)
