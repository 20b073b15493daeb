import math

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(6)


class Waves(Dataset):
    def __init__(self, n):
        self.phase = torch.rand(n) * 2 * math.pi
        self.freq = torch.randint(1, 4, (n,))

    def __len__(self):
        return len(self.freq)

    def __getitem__(self, i):
        t = torch.linspace(0, 1, 32)
        x = torch.sin(2 * math.pi * self.freq[i] * t + self.phase[i])
        return x + 0.2 * torch.randn(32), self.freq[i] - 1


loader = DataLoader(Waves(320), batch_size=32, shuffle=True)
epochs = 8
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, epochs=epochs, steps_per_epoch=len(loader))
criterion = nn.CrossEntropyLoss()

for epoch in range(epochs):
    correct = seen = 0
    for x, y in loader:
        optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        correct += (out.argmax(1) == y).sum().item()
        seen += len(y)
    scheduler.step()  # BUG lr-absurd
    print(epoch, loss.item(), correct / seen, scheduler.get_last_lr()[0])
