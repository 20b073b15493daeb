import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(1)


class SmallConv(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 9, classes)

    def forward(self, x):
        x = F.max_pool2d(F.gelu(self.conv1(x)), 2)
        x = F.max_pool2d(F.gelu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


# every class is a fixed stroke pattern plus noise
patterns = torch.randn(5, 1, 12, 12)
labels = torch.randint(0, 5, (640,))
images = patterns[labels] + 1.5 * torch.randn(640, 1, 12, 12)
train_loader = DataLoader(TensorDataset(images[:512], labels[:512]), batch_size=32, shuffle=True)
test_loader = DataLoader(TensorDataset(images[512:], labels[512:]), batch_size=64)

model = SmallConv()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()

for epoch in range(4):
    model.train()
    running = 0.0
    for images_b, labels_b in train_loader:
        outputs = model(images_b)
        loss = criterion(outputs, labels_b)
        loss.backward()  # BUG missing-zero-grad
        optimizer.step()  # BUG missing-zero-grad
        running += loss.item()
    model.eval()
    correct = 0
    with torch.no_grad():
        for images_b, labels_b in test_loader:
            correct += (model(images_b).argmax(1) == labels_b).sum().item()
    print(f"epoch {epoch} loss {running / len(train_loader):.4f} acc {correct / 128:.3f}")
