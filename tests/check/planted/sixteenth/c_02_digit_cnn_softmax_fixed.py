import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
protos = torch.rand(5, 1, 12, 12)
labels = torch.randint(0, 5, (400,))
images = protos[labels] + 0.4 * torch.randn(400, 1, 12, 12)


class SmallCNN(nn.Module):
    def __init__(self, n_classes=5):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(8 * 6 * 6, n_classes)

    def forward(self, x):
        x = self.pool(F.relu(self.conv(x)))
        x = x.flatten(1)
        return self.fc(x)


loader = DataLoader(TensorDataset(images, labels), batch_size=40, shuffle=True)
net = SmallCNN()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(6):
    total, correct = 0.0, 0
    for img, lab in loader:
        out = net(img)
        loss = loss_fn(out, lab)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(lab)
        correct += (out.argmax(1) == lab).sum().item()
    print(f"{epoch} loss={total / 400:.4f} acc={correct / 400:.3f}")
