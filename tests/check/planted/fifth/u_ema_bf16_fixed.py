"""Keep a cheap bfloat16 moving average of the weights and evaluate with it."""
import copy
import torch
from torch import nn


class WeightAverage:
    def __init__(self, model, decay=0.998, dtype=torch.float32):
        self.decay = decay
        self.shadow = {k: v.detach().to(dtype, copy=True) for k, v in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            s = self.shadow[k]
            s.add_((v.to(s.dtype) - s) * (1 - self.decay))

    def materialise(self, model):
        twin = copy.deepcopy(model)
        twin.load_state_dict(self.shadow)
        return twin.eval()


torch.manual_seed(2)
x = torch.randn(400, 10)
y = x @ torch.randn(10, 1) * 2 + 3
model = nn.Sequential(nn.Linear(10, 1))
ema = WeightAverage(model)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(2000):
    idx = torch.randint(0, 400, (16,))
    loss = (model(x[idx]) - y[idx]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(model)
with torch.no_grad():
    print("online mse  ", f"{(model(x) - y).square().mean():.4f}")
    print("averaged mse", f"{(ema.materialise(model)(x) - y).square().mean():.4f}")
