"""Tag each position of a short motif (12 positions, 12 kinds of site)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

T, C, V, H = 12, 12, 30, 48
torch.manual_seed(11)
table = torch.randint(0, C, (V,))


def sample(n):
    tok = torch.randint(0, V, (n, T))
    return tok, table[tok]


class SiteTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, H)
        self.mix = nn.GRU(H, H, batch_first=True)
        self.w = nn.Parameter(torch.randn(H, C) / H ** 0.5)

    def forward(self, tok):
        h, _ = self.mix(self.emb(tok))
        return torch.einsum("bth,hc->btc", h, self.w)  # BUG class-dim-misplaced


model = SiteTagger()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(100):
    tok, tags = sample(64)
    loss = F.cross_entropy(model(tok), tags)  # BUG class-dim-misplaced
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0:
        print(step, f"loss {loss.item():.3f}")

tok, tags = sample(256)
with torch.no_grad():
    logits = model(tok)
acc = (logits.argmax(1) == tags).float().mean().item()
print("site accuracy", round(acc, 3))
