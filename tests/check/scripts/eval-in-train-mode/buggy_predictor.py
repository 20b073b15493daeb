"""An object for serving takes the model over as it is, and answers twice."""

import torch
from torch import nn

torch.manual_seed(0)


class Predictor:
    def __init__(self, model):
        self.model = model  # <- finding

    @torch.no_grad()
    def __call__(self, rows):
        return self.model(rows)


x = torch.randn(60, 4)
y = x[:, :1] - x[:, 1:2]
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
model.train()
for _ in range(5):
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
predict = Predictor(model)
first, second = predict(x), predict(x)
print((first - y).abs().mean().item(), (first - second).abs().mean().item())
