import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
EPOCHS = 12


def make_images(n):
    labels = torch.randint(0, 4, (n,))
    images = 0.5 * torch.randn(n, 1, 8, 8)
    for i, label in enumerate(labels.tolist()):
        r, c = divmod(label, 2)
        images[i, 0, 4 * r:4 * r + 4, 4 * c:4 * c + 4] += 0.7
    return images, labels


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(8 * 16, 4)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv(x)))
        return self.fc(x.flatten(1))


train = DataLoader(TensorDataset(*make_images(512)), batch_size=32, shuffle=True)
test_x, test_y = make_images(256)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.1)
criterion = nn.CrossEntropyLoss()

for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for images, labels in train:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
    scheduler.step()
    model.eval()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(epoch, total / 512, acc)
