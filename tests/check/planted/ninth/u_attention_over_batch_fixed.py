# Self-attention between the steps of a sequence; the data are (batch, time, feature)
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.project = nn.Linear(3, dim)
        self.attention = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.out = nn.Linear(dim, 2)

    def forward(self, x):
        h = self.project(x)
        h = h + self.attention(h, h, h, need_weights=False)[0]
        return self.out(h.mean(1))


torch.manual_seed(43)
x = torch.randn(240, 11, 3)
y = (x[:, :, 0].amax(1) > x[:, :, 1].amax(1)).long()
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    for rows in torch.randperm(240).split(40):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
