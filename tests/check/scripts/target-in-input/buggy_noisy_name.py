import torch
from torch import nn

torch.manual_seed(0)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 24))

    def forward(self, x):
        return self.net(x)


def signals(n):
    t = torch.arange(24) / 24
    return torch.sin(6.28 * torch.randint(1, 4, (n, 1)) * t + 6 * torch.rand(n, 1))


model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(200):
    clean = signals(64)
    noisy = clean + 0.4 * torch.randn_like(clean)
    loss = nn.functional.mse_loss(model(noisy), noisy)  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
