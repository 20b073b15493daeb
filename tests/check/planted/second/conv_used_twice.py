"""Two-layer conv net on small sprites."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SpriteNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.stem = nn.Conv2d(1, ch, 3, padding=1)
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)  # BUG param-unused
        self.fc = nn.Linear(ch * 16, 3)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv1(x))  # BUG param-unused
        return self.fc(x.flatten(1))


def sprites(n):
    y = torch.randint(0, 3, (n,))
    x = 0.5 * torch.randn(n, 1, 8, 8)
    eye = torch.eye(8)
    x[y == 0, 0] += eye
    x[y == 1, 0] += eye.flip(0)
    x[y == 2, 0] += eye.roll(4, 0)
    return x, y


torch.manual_seed(0)
net = SpriteNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(120):
    x, y = sprites(32)
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = sprites(300)
    print("acc", (net(x).argmax(1) == y).float().mean().item())
