import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
T = X[:, :2].sum(1, keepdim=True) + 0.05 * torch.randn(256, 1)


class Mix(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ParameterList([nn.Parameter(torch.randn(8, 1) * 0.3) for _ in range(4)])
        self.gate = nn.Linear(8, 4)

    def forward(self, x):
        w = torch.stack([e for e in self.experts])
        p = self.gate(x).softmax(-1)
        return torch.einsum("bi,eio,be->bo", x, w, p)


net = Mix()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for i in range(0, 256, 32):
        loss = F.mse_loss(net(X[i : i + 32]), T[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
