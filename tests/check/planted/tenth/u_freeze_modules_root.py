"""Only the batch norms shall stay as they are."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 24))
        self.gate = nn.Linear(24, 24)
        self.head = nn.Linear(24, 3)

    def forward(self, x):
        h = self.body(x)
        return self.head(h * torch.sigmoid(self.gate(h)))


def freeze_norms(model):
    for name, module in model.named_modules():
        if "body" in name:
            module.eval()
            for p in module.parameters():
                p.requires_grad_(False)  # BUG param-frozen


torch.manual_seed(0)
model = Net()
with torch.no_grad():
    for _ in range(5):
        model(torch.randn(64, 6))
freeze_norms(model)
x = torch.randn(96, 6)
y = x[:, :3].argmax(1)
opt = torch.optim.Adam([p for p in model.parameters()], lr=1e-2)
for step in range(30):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
trained = sum(p.requires_grad for p in model.parameters())
print("loss", round(loss.item(), 3), "trained", trained)
