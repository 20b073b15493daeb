"""A small CNN that grew while it was written."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 6, 3, padding=1)  # BUG param-unused
        self.conv3 = nn.Conv2d(6, 12, 3, padding=1)
        self.fc = nn.Linear(12 * 2 * 2, 2)

    def forward(self, x):
        x1 = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x2 = F.relu(self.conv2(x1)) + x1
        x3 = F.max_pool2d(F.relu(self.conv3(x1)), 2)  # BUG param-unused
        return self.fc(x3.flatten(1))


torch.manual_seed(33)
net = SmallCNN()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(20):
    y = torch.randint(0, 2, (24,))
    x = 0.4 * torch.randn(24, 1, 8, 8)
    x[y == 1, :, 2:6, 2:6] += 1
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
