"""Image-caption matching (CLIP style) on synthetic pairs with a validation score."""
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class Pairs(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        mix = torch.Generator().manual_seed(0)
        z = torch.randn(n + 1, 8, generator=g)
        self.images = torch.tanh(z @ torch.randn(8, 24, generator=mix))
        self.captions = z @ torch.randn(8, 20, generator=mix)

    def __len__(self):
        return len(self.images) - 1

    def __getitem__(self, i):
        return self.images[i], self.captions[i]


class Clip(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(24, 64), nn.GELU(), nn.Linear(64, d))
        self.text = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, d))
        self.logit_scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, img, txt):
        a, b = F.normalize(self.image(img), dim=-1), F.normalize(self.text(txt), dim=-1)
        return self.logit_scale.exp() * a @ b.t()


def clip_loss(logits):
    t = torch.arange(len(logits))
    return (F.cross_entropy(logits, t) + F.cross_entropy(logits.t(), t)) / 2


torch.manual_seed(0)
model = Clip()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
for epoch in range(8):
    for img, txt in DataLoader(Pairs(1024, 1), 64, shuffle=True, drop_last=True):
        loss = clip_loss(model(img, txt))
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    img, txt = next(iter(DataLoader(Pairs(64, 2), 64)))
    r1 = (model(img, txt).argmax(1) == torch.arange(64)).float().mean()
print(f"loss {loss.item():.3f} (chance {torch.tensor(64.).log():.3f}) R@1 {r1:.3f}")
