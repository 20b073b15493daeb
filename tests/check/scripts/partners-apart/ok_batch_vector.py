import torch
from torch import nn

torch.manual_seed(26)
NODES = 6


class SetModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.node = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32))
        self.out = nn.Linear(32, 1)

    def forward(self, nodes, batch, count):
        h = self.node(nodes).relu()
        pooled = torch.zeros(count, 32).index_add(0, batch, h)
        return self.out(pooled).squeeze(1)


sets = torch.randn(320, NODES, 4)
target = sets[:, :, 0].relu().sum(1)
model = SetModel()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    total = 0.0
    for idx in torch.randperm(320).split(32):
        nodes = sets[idx].reshape(-1, 4)
        batch = torch.arange(len(idx)).repeat_interleave(NODES)
        loss = nn.functional.mse_loss(model(nodes, batch, len(idx)), target[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 10:.4f}")
