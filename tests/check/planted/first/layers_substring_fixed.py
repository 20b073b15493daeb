"""Fine-tune a deep residual tabular net: the first blocks stay frozen, the rest learns."""
import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.fc = nn.Linear(d, d)

    def forward(self, x):
        return x + F.gelu(self.fc(self.norm(x)))


class Tabular(nn.Module):
    def __init__(self, n_in=10, d=32, depth=13, n_out=4):
        super().__init__()
        self.stem = nn.Linear(n_in, d)
        self.layers = nn.ModuleList(Block(d) for _ in range(depth))
        self.head = nn.Linear(d, n_out)

    def forward(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


FREEZE = ("stem", "layers.0", "layers.1")


def freeze(model, prefixes=FREEZE):
    for name, p in model.named_parameters():
        if any(name.startswith(pre + ".") for pre in prefixes):
            p.requires_grad_(False)


def run():
    torch.manual_seed(0)
    x = torch.randn(900, 10)
    y = (x[:, 0] * x[:, 1] > 0).long() + 2 * (x[:, 2] > x[:, 3]).long()
    model = Tabular()
    freeze(model)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3)
    for epoch in range(14):
        for idx in torch.randperm(700).split(50):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    with torch.no_grad():
        acc = (model(x[700:]).argmax(1) == y[700:]).float().mean()
    n = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print(f"trainable {n}, val acc {acc:.3f}")


run()
