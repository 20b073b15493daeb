"""Layer-wise learning-rate decay for a small transformer encoder."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, v=20, d=24, n_layers=6, n_cls=4):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(d, 2, 48, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(n_layers))
        self.head = nn.Linear(d, n_cls)

    def forward(self, ids):
        h = self.emb(ids)
        for layer in self.layers:
            h = layer(h)
        return self.head(h.mean(1))


def param_groups(model, lr, decay):
    stages = [model.emb, *model.layers, model.head]
    n = len(stages) - 1
    return [{"params": list(m.parameters()), "lr": lr * decay ** (n - i)}
            for i, m in enumerate(stages)]


def sample(n):
    """class = which of four markers occurs in the sequence"""
    ids = torch.randint(4, 20, (n, 10))
    y = torch.randint(0, 4, (n,))
    ids[torch.arange(n), torch.randint(0, 10, (n,))] = y
    return ids, y


torch.manual_seed(0)
model = Encoder()
opt = torch.optim.AdamW(param_groups(model, lr=2e-3, decay=0.1))  # BUG lr-absurd
for step in range(150):
    ids, y = sample(32)
    loss = nn.functional.cross_entropy(model(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
model.eval()
with torch.no_grad():
    ids, y = sample(300)
    print(f"loss {loss.item():.3f} acc {(model(ids).argmax(1) == y).float().mean():.3f}")
