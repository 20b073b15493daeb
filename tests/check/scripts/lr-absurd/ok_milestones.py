"""Image classifier with a step schedule, as in old recipes."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import MultiStepLR


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 16, 3)

    def forward(self, x):
        return self.fc(F.max_pool2d(F.relu(self.bn(self.conv(x))), 2).flatten(1))


def blobs(n):
    y = torch.randint(0, 3, (n,))
    x = torch.randn(n, 1, 8, 8)
    for k in range(n):
        x[k, 0, :, 2 * y[k] : 2 * y[k] + 3] += 1.0
    return x, y


def main():
    torch.manual_seed(12)
    x, y = blobs(320)
    model = Small()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    epochs, batch = 8, 32
    per_epoch = len(x) // batch
    scheduler = MultiStepLR(optimizer, milestones=[4, 6], gamma=0.1)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for rows in torch.randperm(len(x)).split(batch):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        scheduler.step()
        print(f"epoch {epoch} loss {total / len(x):.4f}")


main()
