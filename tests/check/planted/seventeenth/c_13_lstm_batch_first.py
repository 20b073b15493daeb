import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(12)


class ActivityNet(nn.Module):
    def __init__(self, channels=3, hidden=32, classes=4):
        super().__init__()
        self.lstm = nn.LSTM(channels, hidden)  # BUG batch-first
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        out, (h, c) = self.lstm(x)  # BUG batch-first
        return self.fc(out[:, -1, :])


def sensor_data(n, length=20):
    y = torch.randint(0, 4, (n,))
    t = torch.arange(length) / length
    phase = torch.rand(n, 1) * 6.28
    wave = torch.sin(6.28 * (y[:, None] + 1) * t + phase)
    x = wave.unsqueeze(-1) * torch.tensor([1.0, -0.5, 0.3]) + 0.1 * torch.randn(n, length, 3)
    return x, y


x, y = sensor_data(384)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = ActivityNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    correct = 0
    for xb, yb in loader:
        optimizer.zero_grad()
        logits = model(xb)
        loss = criterion(logits, yb)
        loss.backward()
        optimizer.step()
        correct += (logits.argmax(1) == yb).sum().item()
    print(epoch, loss.item(), correct / 384)
