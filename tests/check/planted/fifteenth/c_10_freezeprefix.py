"""Freeze the first two blocks of a residual MLP, train the rest."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.fc = nn.Linear(d, d)

    def forward(self, x):
        return x + torch.relu(self.fc(self.norm(x)))


class ResMLP(nn.Module):
    def __init__(self, d_in, d, depth, n_out):
        super().__init__()
        self.stem = nn.Linear(d_in, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(depth))
        self.head = nn.Linear(d, n_out)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def freeze(model, prefixes):
    for name, p in model.named_parameters():
        if name.startswith(tuple(prefixes)):  # BUG param-frozen
            p.requires_grad = False


torch.manual_seed(0)
model = ResMLP(8, 24, 12, 2)
freeze(model, ["stem", "blocks.0", "blocks.1"])  # BUG param-frozen
trainable = [p for p in model.parameters() if p.requires_grad]
print("trainable tensors:", len(trainable))
opt = torch.optim.AdamW(trainable, lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
x = torch.randn(600, 8)
y = (x[:, 0] * x[:, 1] > 0).long()
for epoch in range(4):
    total = 0.0
    for idx in torch.randperm(600).split(50):
        opt.zero_grad()
        loss = loss_fn(model(x[idx]), y[idx])
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    print(epoch, total / 600)
