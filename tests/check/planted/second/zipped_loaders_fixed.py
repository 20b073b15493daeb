"""Image-to-vector translation with separate loaders for the two sides."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader


def corpus(n):
    src = torch.randn(n, 12)
    w = torch.randn(12, 6) / 2
    return src, torch.tanh(src @ w)


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 6))

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
src, dst = corpus(800)
pair_loader = DataLoader(list(zip(src[:700], dst[:700])), batch_size=50, shuffle=True)
model = Translator()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(10):
    for x, y in pair_loader:
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    print("val mse", nn.functional.mse_loss(model(src[700:]), dst[700:]).item(), "variance", dst.var().item())
