"""Weight averaging of a small regressor; the averaged copy is kept in a compact form."""
import torch
from torch import nn
from torch.func import functional_call


class WeightAverage:
    def __init__(self, model, decay=0.98):
        self.model, self.decay = model, decay
        self.shadow = {k: v.detach().clone() for k, v in model.named_parameters()}

    @torch.no_grad()
    def update(self):
        for k, v in self.model.named_parameters():
            self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)

    @torch.no_grad()
    def predict(self, x):
        weights = {k: v.float() for k, v in self.shadow.items()}
        return functional_call(self.model, weights, (x,))


def surface(n):
    x = 2 * torch.rand(n, 3) - 1
    return x, torch.sin(3 * x[:, :1]) + x[:, 1:2] * x[:, 2:]


torch.manual_seed(0)
x, y = surface(1000)
x_val, y_val = surface(200)
model = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
average = WeightAverage(model)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(200):
    idx = torch.randint(0, len(x), (64,))
    loss = nn.functional.mse_loss(model(x[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    average.update()
    if step % 50 == 49:
        with torch.no_grad():
            raw = nn.functional.mse_loss(model(x_val), y_val).item()
        mean = nn.functional.mse_loss(average.predict(x_val), y_val).item()
        print(f"step {step + 1} val mse {raw:.4f}, of the average {mean:.4f}")
