import torch
import torch.nn as nn

torch.manual_seed(8)
B, T, F_ = 32, 10, 3


def batch(n):
    x = torch.randn(n, T, F_)
    y = (x[:, :, 0].sum(1) > 0).float()
    return x, y


class SeqClassifier(nn.Module):
    """nn.GRU wants (time, batch, feature)."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(F_, 24)
        self.fc = nn.Linear(24, 1)

    def forward(self, x):
        n = x.size(0)
        x = x.view(T, n, F_)  # BUG reshape-not-transpose
        _, h = self.gru(x)
        return self.fc(h[-1]).squeeze(1)


net = SeqClassifier()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
bce = nn.BCEWithLogitsLoss()
for it in range(150):
    x, y = batch(B)
    loss = bce(net(x), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    if it % 30 == 29:
        print(f"iter {it + 1} loss {loss.item():.3f}")
net.eval()
with torch.no_grad():
    x, y = batch(500)
    print("test acc", ((net(x) > 0).float() == y).float().mean().item())
