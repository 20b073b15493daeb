import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(8, 32)
        self.neck = nn.Linear(32, 32)
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(torch.relu(self.neck(torch.relu(self.backbone(x)))))


net = Net()
for name, p in net.named_parameters():
    if "backbone" in name or "stem" in name:
        p.requires_grad = False
scale = nn.Parameter(torch.ones(1))
opt = torch.optim.Adam([*net.parameters(), scale], lr=1e-2)
for epoch in range(4):
    for i in range(0, 256, 32):
        loss = F.cross_entropy(net(X[i : i + 32]) * scale, Y[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
