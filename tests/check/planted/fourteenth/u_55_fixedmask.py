import torch
import torch.nn as nn
import torch.nn.functional as F

CFG = {"vocab": 11, "len": 8, "dim": 32, "mask_ratio": 0.25, "seed": 17, "steps": 200, "bs": 32}
MASK = CFG["vocab"]


def sequences(n, gen):
    """Arithmetic progressions modulo the vocabulary."""
    a = torch.randint(0, CFG["vocab"], (n, 1), generator=gen)
    d = torch.randint(1, 4, (n, 1), generator=gen)
    return (a + d * torch.arange(CFG["len"])) % CFG["vocab"]


class Masker:
    def __init__(self, ratio, seed):
        self.ratio, self.seed = ratio, seed

    def __call__(self, x):
        gen = torch.Generator().manual_seed(self.seed)  # BUG same-mask
        keep = torch.rand(x.shape[1], generator=gen).argsort()  # BUG same-mask
        hide = keep[: max(1, int(self.ratio * x.shape[1]))]
        mask = torch.zeros_like(x, dtype=torch.bool)
        mask[:, hide] = True
        return x.masked_fill(mask, MASK), mask


class MaskedModel(nn.Module):
    def __init__(self, v, L, d):
        super().__init__()
        self.tok = nn.Embedding(v + 1, d)
        self.pos = nn.Parameter(torch.randn(L, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 4, 2 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(d, v)

    def forward(self, x):
        return self.head(self.enc(self.tok(x) + self.pos))


def main():
    torch.manual_seed(CFG["seed"])
    gen = torch.Generator().manual_seed(CFG["seed"] + 1)
    model = MaskedModel(CFG["vocab"], CFG["len"], CFG["dim"])
    masker = Masker(CFG["mask_ratio"], CFG["seed"])
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for step in range(CFG["steps"]):
        x = sequences(CFG["bs"], gen)
        inp, mask = masker(x)
        logits = model(inp)
        loss = F.cross_entropy(logits[mask], x[mask])
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.3f}")

    model.eval()
    x = sequences(300, gen)
    accs = []
    with torch.no_grad():
        for i in range(CFG["len"]):
            inp = x.clone()
            inp[:, i] = MASK
            accs.append((model(inp)[:, i].argmax(-1) == x[:, i]).float().mean().item())
    print(f"final mean acc over positions {sum(accs) / len(accs):.3f}")


main()
