import torch
from torch import nn

torch.manual_seed(7)


class Filler(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 24, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0]).squeeze(-1)


def batch(n=32, t=20):
    lengths = torch.randint(5, t + 1, (n,))
    mask = (torch.arange(t)[None] < lengths[:, None]).float()
    x = torch.randn(n, t, 2) * mask[..., None]
    return x, x.sum(-1).cumsum(1) * mask, mask


model = Filler()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(60):
    x, y, mask = batch()
    error = (model(x) - y) ** 2
    loss = (error * mask).mean()  # <- finding
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item())
