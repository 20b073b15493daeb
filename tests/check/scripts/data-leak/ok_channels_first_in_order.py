"""Activity recognition from sliding windows of an accelerometer."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset


class Windows(Dataset):
    def __init__(self, signal, labels, width=40, stride=10):
        self.signal, self.labels, self.width = signal, labels, width
        self.starts = list(range(0, len(signal) - width, stride))

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        s = self.starts[i]
        return self.signal[s : s + self.width].T, self.labels[s + self.width - 1]


def simulate(seconds=200):
    labels = torch.arange(seconds * 10) // 100 % 3
    t = torch.arange(seconds * 10) / 10
    speed = torch.tensor([0.5, 2.0, 5.0])[labels]
    signal = torch.stack([torch.sin(speed * t), torch.cos(speed * t), 0.3 * speed], 1)
    return signal + 0.2 * torch.randn_like(signal), labels


def main():
    torch.manual_seed(23)
    data = Windows(*simulate())
    n_val = len(data) // 5
    n_train = len(data) - n_val
    train_set, val_set = Subset(data, range(n_train - 4)), Subset(data, range(n_train, len(data)))
    train, val = DataLoader(train_set, 16, shuffle=True), DataLoader(val_set, 16)
    net = nn.Sequential(nn.Conv1d(3, 16, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(2):
        net.train()
        for x, y in train:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        net.eval()
        with torch.no_grad():
            hits = sum((net(x).argmax(1) == y).sum().item() for x, y in val)
        print(epoch, hits / len(val_set))


main()
