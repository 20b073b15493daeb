"""A network with an auxiliary classifier in the middle, as in Inception."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.low = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.high = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.aux = nn.Linear(8 * 16, classes)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        mid = self.low(x)
        return self.fc(self.high(mid).flatten(1)), self.aux(mid.flatten(1))


torch.manual_seed(0)
images = torch.randn(64, 1, 8, 8)
labels = images.view(64, 4, 16).mean(2).argmax(1)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(5):
    for xb, yb in zip(images.split(16), labels.split(16)):
        main_out, aux_out = net(xb)
        loss = criterion(main_out, yb)  # <- finding
        opt.zero_grad()
        loss.backward()
        opt.step()
print("main", round(criterion(net(images)[0], labels).item(), 3), "aux trains", net.aux.weight.grad is not None)
