# Which of six plants is it? Classification with label smoothing.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
NUM_CLASSES = 6
centers = torch.randn(NUM_CLASSES, 12) * 2


def sample(n):
    y = torch.randint(0, NUM_CLASSES, (n,))
    return centers[y] + torch.randn(n, 12), y


class PlantNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.fc1 = nn.Linear(12, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, NUM_CLASSES)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


net = PlantNet()
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(60):
    inputs, labels = sample(64)
    optimizer.zero_grad()
    loss = criterion(net(inputs), labels)
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
