"""Learn to predict soft label distributions (crowd votes)."""
import torch
from torch import nn
import torch.nn.functional as F


class VoteNet(nn.Module):
    def __init__(self, n_in, n_cls, hidden=32):
        super().__init__()
        self.l1 = nn.Linear(n_in, hidden)
        self.l2 = nn.Linear(hidden, n_cls)

    def forward(self, x):
        return self.l2(F.relu(self.l1(x)))


def crowd(n, w):
    x = torch.randn(n, 6)
    p = F.softmax(x @ w, dim=1)
    votes = torch.distributions.Multinomial(20, p).sample()
    return x, votes / 20


def main():
    torch.manual_seed(0)
    w = torch.randn(6, 4)
    net = VoteNet(6, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, weight_decay=1e-2)
    for step in range(250):
        x, q = crowd(64, w)
        out = net(x)
        loss = F.kl_div(out, q, reduction="batchmean")  # BUG logits-as-probs
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        x, q = crowd(1000, w)
        kl = F.kl_div(F.log_softmax(net(x), 1), q, reduction="batchmean")
    print(f"loss {loss.item():.3f} true KL {kl:.3f}")


main()
