import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)
VOCAB, PAD = 30, 0


class Classifier(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 2)

    def forward(self, tokens):
        mask = tokens != PAD
        h = self.emb(tokens)
        a, _ = self.attn(h, h, h, key_padding_mask=~mask)
        h = self.norm(h + a)
        m = mask.unsqueeze(-1).float()
        return self.head((h * m).sum(1) / m.sum(1))


def batch(n=48, length=12):
    lengths = torch.randint(4, length, (n,))
    tokens = torch.randint(2, VOCAB, (n, length))
    has = torch.rand(n) < 0.5
    a = torch.randint(0, 2, (n,))
    tokens[torch.arange(n), a] = torch.where(has, 1, tokens[torch.arange(n), a])
    tokens[torch.arange(length)[None] >= lengths[:, None]] = PAD
    return tokens, (tokens == 1).any(1).long()


model = Classifier()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(150):
    tokens, y = batch()
    loss = F.cross_entropy(model(tokens), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        print(step, loss.item())
