import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class TransferNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        )
        self.classifier = nn.Linear(128, 2)

    def freeze_backbone(self):
        for p in self.backbone.parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.classifier(self.backbone(x))


def pretrain_stats(net):
    net.train()
    with torch.no_grad():
        for _ in range(30):
            net.backbone(torch.randn(32, 1, 8, 8))


net = TransferNet()
pretrain_stats(net)
net.freeze_backbone()
before = net.backbone[1].running_mean.clone()

x = 4.0 + 2.0 * torch.randn(200, 1, 8, 8)
y = (x[:, 0, :4].mean((1, 2)) > x[:, 0, 4:].mean((1, 2))).long()
dl = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
opt = torch.optim.Adam(net.classifier.parameters(), lr=1e-2)
for epoch in range(4):
    net.train()  # BUG frozen-batchnorm|wrong-mode|eval-in-train-mode
    tot = 0.0
    for xb, yb in dl:
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    print(f"epoch {epoch} loss {tot / len(dl):.4f}")
drift = (net.backbone[1].running_mean - before).abs().max().item()
print(f"frozen feature statistics moved by {drift:.4f}")
