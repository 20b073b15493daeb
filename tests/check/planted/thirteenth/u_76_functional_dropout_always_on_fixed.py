import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHead(nn.Module):
    def __init__(self, dim, heads, p):
        super().__init__()
        self.heads, self.p = heads, p
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.training else 0.0)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class Counter(nn.Module):
    """How many pairs of equal symbols does the row contain?"""

    def __init__(self, symbols=5, dim=32):
        super().__init__()
        self.embed = nn.Embedding(symbols, dim)
        self.attn = MultiHead(dim, 4, p=0.3)
        self.norm = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, ids):
        x = self.embed(ids)
        return self.ff(self.norm(x + self.attn(x))).mean(dim=1).squeeze(-1)


def rows(n, g, length=6):
    ids = torch.randint(0, 5, (n, length), generator=g)
    equal = (ids[:, :, None] == ids[:, None, :]).float().sum(dim=(1, 2))
    return ids, (equal - length) / 4


def main():
    torch.manual_seed(91)
    g = torch.Generator().manual_seed(91)
    x, y = rows(1500, g)
    x_val, y_val = rows(300, g)
    model = Counter()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(8):
        model.train()
        for idx in torch.randperm(1500, generator=g).split(50):
            optimizer.zero_grad()
            F.mse_loss(model(x[idx]), y[idx]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            one, two = model(x_val), model(x_val)
        print(f"epoch {epoch} val mse {F.mse_loss(one, y_val).item():.4f} two passes differ {(one - two).abs().max().item():.4f}")


if __name__ == "__main__":
    main()
