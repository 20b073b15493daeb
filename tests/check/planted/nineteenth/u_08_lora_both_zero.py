"""LoRA by hand: adapt a frozen classifier to shifted data."""
import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8.0):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.A = nn.Parameter(torch.zeros(rank, base.in_features))  # BUG loss-at-chance
        self.B = nn.Parameter(torch.zeros(base.out_features, rank))  # BUG loss-at-chance
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.A.T) @ self.B.T


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 40)
        self.fc2 = nn.Linear(40, 3)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def loop(net, x, y, steps, lr):
    params = [p for p in net.parameters() if p.requires_grad]
    print("trainable", sum(p.numel() for p in params))
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    for step in range(steps):
        idx = torch.randint(0, len(x), (40,))
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


torch.manual_seed(0)
w = torch.randn(10, 3)
x = torch.randn(400, 10)
net = Net()
print("pretrain", loop(net, x, (x @ w).argmax(1), 60, 5e-3))
rotation = torch.linalg.qr(torch.randn(10, 10)).Q
net.fc1, net.fc2 = LoRALinear(net.fc1), LoRALinear(net.fc2)
print("adapt", loop(net, x @ rotation, (x @ w).argmax(1), 40, 1e-2))
