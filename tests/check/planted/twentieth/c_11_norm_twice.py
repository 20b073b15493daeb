"""Next-token model over brackets: a pre-norm transformer."""
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(d)
        self.norm2 = nn.LayerNorm(d)  # BUG param-unused|param-shared
        self.attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, mask):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
        return x + self.ff(self.norm1(x))  # BUG param-unused|param-shared


class BracketLM(nn.Module):
    def __init__(self, vocab=5, d=24, depth=2, length=20):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Parameter(torch.randn(length, d) * 0.02)
        self.layers = nn.ModuleList([Block(d, 4) for _ in range(depth)])
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        t = ids.size(1)
        mask = torch.triu(torch.full((t, t), float("-inf")), diagonal=1)
        x = self.tok(ids) + self.pos[:t]
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(self.norm(x))


def brackets(n, length):
    rows = []
    for _ in range(n):
        row, stack = [0], []
        while len(row) < length:
            if stack and (torch.rand(1).item() < 0.5 or len(stack) > 3):
                row.append(stack.pop() + 2)
            else:
                kind = int(torch.randint(1, 3, (1,)))
                stack.append(kind)
                row.append(kind)
        rows.append(row)
    return torch.tensor(rows)


torch.manual_seed(0)
corpus = brackets(64, 17)
model = BracketLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(25):
    batch = corpus[torch.randint(len(corpus), (16,))]
    logits = model(batch[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
