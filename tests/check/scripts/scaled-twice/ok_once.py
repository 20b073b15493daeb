"""Image classifier; pixels arrive as bytes."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 4, (n,), generator=g)
        self.images = torch.randint(0, 60, (n, 12, 12), generator=g).to(torch.uint8)
        for i, k in enumerate(self.labels):
            self.images[i, 3 * k : 3 * k + 3] += 180

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i].float().unsqueeze(0) / 255, self.labels[i]


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 9, 4)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def main():
    torch.manual_seed(10)
    train, test = DataLoader(Digits(96, 1), 32, shuffle=True), DataLoader(Digits(64, 2), 32)
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(1):
        for x, y in train:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            acc = sum((model(x).argmax(1) == y).sum().item() for x, y in test) / 64
        print(epoch, round(loss.item(), 4), acc)


main()
