"""A frozen backbone in eval mode under a new head, then everything unfrozen with a smaller rate for the backbone; weights averaged."""

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.backbone(x))


torch.manual_seed(0)
images = torch.randn(96, 1, 8, 8)
labels = (images.mean(dim=(1, 2, 3)) > 0).long()
images += 0.5 * labels.view(-1, 1, 1, 1)
train_set, val_set = random_split(TensorDataset(images, labels), [80, 16], generator=torch.Generator().manual_seed(1))
train_loader, val_loader = DataLoader(train_set, batch_size=16, shuffle=True), DataLoader(val_set, batch_size=16)
model, criterion = Model(), nn.CrossEntropyLoss()
for p in model.backbone.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1, momentum=0.9)
for epoch in range(4):
    if epoch == 2:
        for p in model.backbone.parameters():
            p.requires_grad = True
        groups = [{"params": model.backbone.parameters(), "lr": 0.02}, {"params": model.head.parameters()}]
        optimizer = torch.optim.SGD(groups, lr=0.05, momentum=0.9)
        averaged = AveragedModel(model)
    model.train()
    if epoch < 2:
        model.backbone.eval()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    if epoch >= 2:
        averaged.update_parameters(model)
    model.eval()
    right = 0
    with torch.inference_mode():
        for x, y in val_loader:
            right += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {right / len(val_set):.2f}")
update_bn(train_loader, averaged)
averaged.eval()
with torch.no_grad():
    print((averaged(images[:16]).argmax(1) == labels[:16]).float().mean().item())
