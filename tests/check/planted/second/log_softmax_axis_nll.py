"""Frame labelling of time-major acoustic features."""
import torch
from torch import nn
import torch.nn.functional as F

T, B, C = 8, 8, 4


class FrameNet(nn.Module):
    def __init__(self, n_in=6, d=24):
        super().__init__()
        self.rnn = nn.GRU(n_in, d)
        self.fc = nn.Linear(d, C)

    def forward(self, x):
        h, _ = self.rnn(x)
        return F.log_softmax(self.fc(h), dim=-1)


def frames(proto):
    y = torch.randint(0, C, (B, T))
    x = proto[y.t()] + 0.4 * torch.randn(T, B, 6)
    return x, y


def loss_fn(logp, y):
    # NLL wants (batch, class, time)
    return F.nll_loss(logp.permute(0, 2, 1), y)  # BUG class-dim-misplaced


torch.manual_seed(0)
proto = torch.randn(C, 6)
net = FrameNet()
opt = torch.optim.Adam(net.parameters(), lr=6e-3)
for step in range(200):
    x, y = frames(proto)
    loss = loss_fn(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = frames(proto)
    print("loss", loss.item(), "acc", (net(x).argmax(-1) == y.t()).float().mean().item())
