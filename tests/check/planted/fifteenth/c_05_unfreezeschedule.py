"""Gradual unfreezing: the head first, then the backbone too."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    @torch.no_grad()  # BUG gradient-cut
    def encode(self, x):
        return self.backbone(x)  # BUG gradient-cut

    def forward(self, x):
        return self.head(self.encode(x))  # BUG gradient-cut


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


def run_epoch(model, loader, opt):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total / len(loader)


torch.manual_seed(0)
x = torch.randn(900, 16)
y = ((x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0.5).long())
loader = DataLoader(TensorDataset(x, y), batch_size=45, shuffle=True)
model = Classifier()
set_trainable(model.backbone, False)
opt = torch.optim.Adam(model.head.parameters(), lr=3e-3)
for epoch in range(6):
    if epoch == 2:
        set_trainable(model.backbone, True)
        opt.add_param_group({"params": model.backbone.parameters(), "lr": 2e-3})
    print(epoch, run_epoch(model, loader, opt))
