"""Transformer with cross-layer parameter sharing."""
import torch
import torch.nn as nn


class Albert(nn.Module):
    """a single layer is used at every depth to save parameters"""

    def __init__(self, v=14, d=24, depth=4, n_cls=3):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.layer = nn.TransformerEncoderLayer(d, 4, 48, dropout=0.0, batch_first=True, norm_first=True)
        self.depth = depth
        self.head = nn.Linear(d, n_cls)

    def forward(self, ids):
        x = self.emb(ids)
        for _ in range(self.depth):
            x = self.layer(x)
        return self.head(x.mean(1))


torch.manual_seed(0)
net = Albert()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for step in range(120):
    ids = torch.randint(3, 14, (32, 8))
    y = torch.randint(0, 3, (32,))
    ids[torch.arange(32), torch.randint(0, 8, (32,))] = y
    out = net(ids)
    loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item(), "batch acc", (out.argmax(1) == y).float().mean().item())
