import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(55)


class Tower(nn.Module):
    def __init__(self, d_in):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 64), nn.ReLU(), nn.Linear(64, 32))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


image_tower, text_tower = Tower(20), Tower(12)
optimizer = torch.optim.Adam([*image_tower.parameters(), *text_tower.parameters()], lr=2e-3)
mix_i, mix_t = torch.randn(8, 20), torch.randn(8, 12)


def pairs(n):
    z = torch.randn(n, 8)
    return z @ mix_i + 0.1 * torch.randn(n, 20), z @ mix_t + 0.1 * torch.randn(n, 12)


for step in range(200):
    images, texts = pairs(128)
    logits = image_tower(images) @ text_tower(texts).t() / 0.07
    labels = torch.arange(128)
    loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(step, loss.item(), (logits.argmax(1) == labels).float().mean().item())
