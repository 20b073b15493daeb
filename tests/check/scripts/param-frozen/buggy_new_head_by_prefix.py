"""A prefix freezes the new head with the rest."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)


def textures(n, freqs):
    y = torch.randint(0, len(freqs), (n,))
    f = torch.tensor(freqs)[y][:, None]
    t = torch.arange(32).float()
    return torch.sin(f * t + 6.28 * torch.rand(n, 1)) + 0.2 * torch.randn(n, 32), y


class Tex(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 9)
        self.norm = nn.GroupNorm(4, 16)
        self.conv_head = nn.Conv1d(16, n_out, 1)

    def forward(self, x):
        h = F.relu(self.norm(self.conv1(x[:, None])))
        return self.conv_head(h).mean(-1)


def fit(net, data, steps, lr):
    params = [p for p in net.parameters() if p.requires_grad]
    opt = torch.optim.Adam(params, lr=lr)
    x, y = data
    for s in range(steps):
        idx = torch.randint(0, len(x), (64,))
        loss = F.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


net = Tex(4)
print("pretraining loss", fit(net, textures(800, [0.4, 0.9, 1.5, 2.2]), 200, 1e-2))

net.conv_head = nn.Conv1d(16, 3, 1)
for name, p in net.named_parameters():
    if name.startswith("conv"):
        p.requires_grad = False  # <- finding
loss = fit(net, textures(600, [0.6, 1.2, 1.9]), 200, 2e-2)
test_x, test_y = textures(400, [0.6, 1.2, 1.9])
with torch.no_grad():
    acc = (net(test_x).argmax(1) == test_y).float().mean().item()
print(f"fine-tuned: loss {loss:.3f} test acc {acc:.3f}")
