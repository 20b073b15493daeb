"""Online learning from a stream of small images."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Stream(Dataset):
    def __init__(self, n=320):
        self.y = torch.randint(0, 2, (n,))
        self.x = 0.5 * torch.randn(n, 1, 8, 8) + self.y[:, None, None, None] * 1.0

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 2)

    def forward(self, x):
        h = torch.relu(self.bn(self.conv(x)))
        return self.fc(h.mean((2, 3)))


torch.manual_seed(0)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
net.train()
for x, y in [b for _ in range(6) for b in DataLoader(Stream(), batch_size=32, shuffle=True)]:
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
test = Stream(200)
with torch.no_grad():
    print("acc", (net(test.x).argmax(1) == test.y).float().mean().item())
