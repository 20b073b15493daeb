"""Transfer learning: freeze the pretrained part, train the new head."""
import io
import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Linear(32, 32), nn.ReLU())

    def forward(self, x):
        return self.layer2(self.layer1(x))


class Classifier(Backbone):
    def __init__(self, n):
        super().__init__()
        self.layer_norm_out = nn.LayerNorm(32)
        self.head = nn.Linear(32, n)

    def forward(self, x):
        return self.head(self.layer_norm_out(super().forward(x)))


def pretrain(x, steps=30):
    net = nn.Sequential(Backbone(), nn.Linear(32, 12))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(steps):
        noisy = x + 0.1 * torch.randn_like(x)
        loss = ((net(noisy) - x) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    buffer = io.BytesIO()
    torch.save(net[0].state_dict(), buffer)
    buffer.seek(0)
    return buffer


torch.manual_seed(0)
x = torch.randn(300, 12)
y = (x[:, 0] > 0).long() + 2 * (x[:, 1] * x[:, 2] > 0).long()
weights = torch.load(pretrain(x))
model = Classifier(4)
print(model.load_state_dict(weights, strict=False).unexpected_keys)
for name, p in model.named_parameters():
    if name.startswith("layer"):  # BUG param-frozen
        p.requires_grad = False  # BUG param-frozen
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=5e-3)
for epoch in range(5):
    for i in range(0, 300, 50):
        loss = nn.functional.cross_entropy(model(x[i:i + 50]), y[i:i + 50])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
