import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SmallConvNet(nn.Module):
    """Two convolutions and two linear layers."""

    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 12, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(12 * 3 * 3, 32)
        self.fc2 = nn.Linear(32, classes)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = F.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc2(x)


def shapes(n):
    labels = torch.randint(0, 4, (n,))
    images = 0.3 * torch.randn(n, 1, 12, 12)
    for i, label in enumerate(labels.tolist()):
        r, c = 6 * (label // 2), 6 * (label % 2)
        images[i, 0, r:r + 6, c:c + 6] += 1.0
    return images, labels


def main():
    torch.manual_seed(0)
    train = DataLoader(TensorDataset(*shapes(256)), batch_size=32, shuffle=True)
    model = SmallConvNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(4):
        running = 0.0
        for inputs, labels in train:
            optimizer.zero_grad()
            loss = criterion(model(inputs), labels)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch}: {running / len(train):.4f}")


if __name__ == "__main__":
    main()
