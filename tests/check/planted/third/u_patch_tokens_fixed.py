"""Tiny vision transformer with weight decay on matrices only."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class PatchTransformer(nn.Module):
    def __init__(self, dim=32, patches=16, classes=4):
        super().__init__()
        self.embed = nn.Conv2d(1, dim, kernel_size=4, stride=4)
        self.cls_token = nn.Parameter(0.02 * torch.randn(1, 1, dim))
        self.position = nn.Parameter(0.02 * torch.randn(1, patches + 1, dim))
        self.block = nn.TransformerEncoderLayer(
            dim, 4, dim_feedforward=64, dropout=0.0, activation="gelu",
            batch_first=True, norm_first=True,
        )
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, images):
        x = self.embed(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1) + self.position
        return self.head(self.norm(self.block(x))[:, 0])


def param_groups(model, weight_decay):
    decay = [p for n, p in model.named_parameters() if n.endswith("weight")]
    rest = [p for n, p in model.named_parameters() if not n.endswith("weight")]
    return [
        {"params": decay, "weight_decay": weight_decay},
        {"params": rest, "weight_decay": 0.0},
    ]


def quadrant_images(n):
    """A bright square lies in one of the four quadrants."""
    y = torch.randint(4, (n,))
    images = 0.3 * torch.randn(n, 1, 16, 16)
    for i, q in enumerate(y.tolist()):
        r, c = 8 * (q // 2), 8 * (q % 2)
        images[i, 0, r + 2:r + 6, c + 2:c + 6] += 1.0
    return images, y


torch.manual_seed(0)
images, y = quadrant_images(500)
test_images, test_y = quadrant_images(100)
model = PatchTransformer()
opt = torch.optim.AdamW(param_groups(model, 0.05), lr=2e-3)
for step in range(60):
    idx = torch.randint(500, (32,))
    loss = F.cross_entropy(model(images[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(f"step {step + 1} loss {loss.item():.3f}")
model.eval()
with torch.no_grad():
    print("test accuracy", (model(test_images).argmax(1) == test_y).float().mean().item())
