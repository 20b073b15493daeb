"""LoRA fine-tuning of a small encoder for a new classification task."""
import math
import torch
import torch.nn as nn


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8):
        super().__init__()
        self.base = base
        self.lora_a = nn.Parameter(torch.randn(r, base.in_features) / math.sqrt(base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, r))
        self.scale = alpha / r

    def forward(self, x):
        return self.base(x) + (x @ self.lora_a.t() @ self.lora_b.t()) * self.scale


class Encoder(nn.Module):
    def __init__(self, d=32, n_cls=6):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(10, d), nn.Linear(d, d)
        self.classifier = nn.Linear(d, n_cls)

    def forward(self, x):
        return self.classifier(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


def add_lora(model):
    for name in ("fc1", "fc2"):
        setattr(model, name, LoRALinear(getattr(model, name)))


def mark_trainable(model):
    for name, p in model.named_parameters():
        p.requires_grad = "lora_" in name  # BUG param-frozen


def task(n):
    x = torch.randn(n, 10)
    return x, x[:, :6].argmax(1)


torch.manual_seed(0)
model = Encoder()
add_lora(model)
mark_trainable(model)
opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
for step in range(250):
    x, y = task(64)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = task(500)
    print("loss", loss.item(), "acc", (model(x).argmax(1) == y).float().mean().item())
