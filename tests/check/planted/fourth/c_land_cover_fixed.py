import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
CLASSES, SIZE, BANDS = 8, 8, 5


class LandCover(nn.Module):
    def __init__(self):
        super().__init__()
        self.spectral = nn.Conv2d(BANDS, 32, kernel_size=1)
        self.spatial = nn.Conv2d(32, 32, kernel_size=3, padding=1)
        self.classify = nn.Linear(32, CLASSES)

    def forward(self, tiles):
        h = F.silu(self.spectral(tiles))
        h = F.silu(self.spatial(h))
        # linear classifier on the last axis
        return self.classify(h.permute(0, 2, 3, 1))


def scenes(n, signatures):
    """Tiles are cut into 2x2 fields, each of one land cover."""
    fields = torch.randint(0, CLASSES, (n, 2, 2))
    cover = fields.repeat_interleave(SIZE // 2, 1).repeat_interleave(SIZE // 2, 2)
    tiles = signatures[cover].permute(0, 3, 1, 2)
    return tiles + 0.5 * torch.randn(n, BANDS, SIZE, SIZE), cover


signatures = 1.5 * torch.randn(CLASSES, BANDS)
tiles, cover = scenes(320, signatures)
val_tiles, val_cover = scenes(64, signatures)
model = LandCover()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(6):
    for idx in torch.randperm(320).split(32):
        loss = F.cross_entropy(model(tiles[idx]).permute(0, 3, 1, 2), cover[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        guess = model(val_tiles).argmax(dim=-1)
    print(f"epoch {epoch} loss {loss.item():.3f} pixel accuracy {(guess == val_cover).float().mean().item():.3f}")
