# view + transpose, then transpose + reshape: the usual multi-head bookkeeping, right way round
import torch
from torch import nn


class MHA(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.qkv, self.o = h, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = (z.view(B, T, self.h, D // self.h).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        w = (q @ k.transpose(-2, -1) / (D // self.h) ** 0.5).softmax(-1)
        return self.o((w @ v).transpose(1, 2).reshape(B, T, D))


torch.manual_seed(10)
x = torch.randn(200, 6, 16)
y = x.roll(1, dims=1)[:, :, 0].sum(1, keepdim=True)
att, head = MHA(16, 4), nn.Linear(16, 1)
opt = torch.optim.Adam([*att.parameters(), *head.parameters()], lr=5e-3)
for epoch in range(15):
    for i in range(0, 200, 50):
        loss = nn.functional.mse_loss(head(att(x[i:i + 50]).mean(1)), y[i:i + 50])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "mse", loss.item())
