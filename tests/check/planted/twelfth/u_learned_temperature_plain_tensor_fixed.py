"""A CLIP-like pair of encoders with a learned temperature."""

import torch
import torch.nn.functional as F
from torch import nn


class TwoTowers(nn.Module):
    def __init__(self, d_image=20, d_text=14, d=12):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(d_image, 32), nn.ReLU(), nn.Linear(32, d))
        self.text = nn.Sequential(nn.Linear(d_text, 32), nn.ReLU(), nn.Linear(32, d))
        self.logit_scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, image, text):
        a = F.normalize(self.image(image), dim=-1)
        b = F.normalize(self.text(text), dim=-1)
        return self.logit_scale.exp() * a @ b.t()


torch.manual_seed(50)
shared_to_image, shared_to_text = torch.randn(6, 20), torch.randn(6, 14)
model = TwoTowers()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(40):
    z = torch.randn(32, 6)
    logits = model(z @ shared_to_image, z @ shared_to_text)
    target = torch.arange(32)
    loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
