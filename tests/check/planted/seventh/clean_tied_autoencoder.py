import torch
from torch import nn
import torch.nn.functional as F


class Tied(nn.Module):
    """Decoder uses the transposed weight of the encoder."""

    def __init__(self, n, k):
        super().__init__()
        self.enc = nn.Linear(n, k)
        self.bias = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return F.linear(self.enc(x), self.enc.weight.t(), self.bias)


torch.manual_seed(4)
x = torch.randn(400, 3) @ torch.randn(3, 12)
net = Tied(12, 3)
opt = torch.optim.Adam(net.parameters(), lr=0.02)
for epoch in range(60):
    for b in x.split(100):
        opt.zero_grad()
        loss = F.mse_loss(net(b), b)
        loss.backward()
        opt.step()
    if epoch % 20 == 19:
        print("epoch", epoch + 1, "reconstruction", loss.item())
