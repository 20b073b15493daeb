import copy

import torch
from torch import nn

torch.manual_seed(4)


class EMA:
    def __init__(self, model, decay=0.95):
        self.decay = decay
        self.shadow = copy.deepcopy(model)
        for p in self.shadow.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for ema_p, p in zip(self.shadow.parameters(), model.parameters()):
            ema_p = self.decay * ema_p + (1 - self.decay) * p  # BUG average-incomplete


def target_function(x):
    return torch.sin(2 * x[:, :1]) + 0.5 * x[:, 1:2]


net = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 1))
ema = EMA(net)
optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
x_val = torch.randn(200, 2)
for step in range(250):
    x = torch.randn(64, 2)
    pred = net(x)
    loss = ((pred - target_function(x)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(net)
    if step % 50 == 49:
        ema.shadow.eval()
        with torch.no_grad():
            val = ((ema.shadow(x_val) - target_function(x_val)) ** 2).mean()
        print(step, loss.item(), val.item())
