"""Keep the best model by validation loss and restore it in the end."""
import torch
from torch import nn


class BestKeeper:
    def __init__(self):
        self.score = float("inf")
        self.state = None

    def update(self, model, score):
        if score < self.score:
            self.score = score
            self.state = {k: v.clone() for k, v in model.state_dict().items()}

    def restore(self, model):
        model.load_state_dict(self.state)


def val_loss(model, x, y):
    model.eval()
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


torch.manual_seed(0)
x = torch.randn(260, 15)
y = (x[:, :1] * 1.5 - x[:, 1:2]) + torch.randn(260, 1)
xt, yt, xv, yv = x[:160], y[:160], x[160:], y[160:]
model = nn.Sequential(nn.Linear(15, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
keeper = BestKeeper()
for epoch in range(20):
    model.train()
    for idx in torch.randperm(160).split(20):
        opt.zero_grad()
        nn.functional.mse_loss(model(xt[idx]), yt[idx]).backward()
        opt.step()
    keeper.update(model, val_loss(model, xv, yv))
keeper.restore(model)
print("best", keeper.score, "restored", val_loss(model, xv, yv))
