"""Which of two symbols is in the majority? One attention layer, one class token."""
import torch
import torch.nn.functional as F
from torch import nn


class AttentionPool(nn.Module):
    def __init__(self, dim, p=0.3):
        super().__init__()
        self.p = p
        self.q = nn.Parameter(0.1 * torch.randn(1, 1, 1, dim))
        self.kv = nn.Linear(dim, 2 * dim)

    def forward(self, x):
        k, v = self.kv(x).unsqueeze(1).chunk(2, dim=-1)
        q = self.q.expand(len(x), -1, -1, -1)
        p = self.p if self.training else 0.0
        pooled = F.scaled_dot_product_attention(q, k, v, dropout_p=p)
        return pooled.flatten(1)


class Majority(nn.Module):
    def __init__(self, vocab=6, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.pool = AttentionPool(dim)
        self.head = nn.Linear(dim, 2)

    def forward(self, ids):
        return self.head(self.pool(self.embed(ids)))


def strings(n, length=21):
    ids = torch.randint(0, 6, (n, length))
    return ids, ((ids == 0).sum(1) > (ids == 1).sum(1)).long()


torch.manual_seed(0)
ids, y = strings(1500)
test_ids, test_y = strings(300)
model = Majority()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(6):
    model.train()
    for idx in torch.randperm(1500).split(50):
        loss = F.cross_entropy(model(ids[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        acc = (model(test_ids).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} test accuracy {acc:.3f}")
