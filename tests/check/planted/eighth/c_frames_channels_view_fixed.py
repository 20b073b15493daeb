# Frames arrive as (batch, height, width, channel)
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    def __init__(self, n):
        self.label = torch.randint(0, 3, (n,))
        self.frame = torch.rand(n, 8, 10, 3)
        self.frame[torch.arange(n), :, :, self.label] += 0.5

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.frame[i], self.label[i]


torch.manual_seed(30)
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
loader = DataLoader(Frames(240), batch_size=24, shuffle=True)
for epoch in range(4):
    for frames, labels in loader:
        b, h, w, c = frames.shape
        images = frames.permute(0, 3, 1, 2)
        loss = nn.functional.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
