# Predict load within a ten-minute cycle from unix timestamps
import math
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader

T0 = 1_760_000_000


class Events(Dataset):
    def __init__(self, n):
        self.stamp = T0 + torch.randint(0, 86_400, (n,))
        phase = (self.stamp % 60).double() / 60
        self.load = torch.sin(2 * math.pi * phase).float()

    def __len__(self):
        return len(self.stamp)

    def __getitem__(self, i):
        t = torch.tensor(float(self.stamp[i]))  # BUG device-dtype-mixed
        phase = (t % 60) / 60  # BUG device-dtype-mixed
        return torch.stack([torch.sin(6.2832 * phase), torch.cos(6.2832 * phase)]), self.load[i]


torch.manual_seed(4)
data = Events(800)
net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.02)
for epoch in range(5):
    total = 0.0
    for x, y in DataLoader(data, batch_size=40, shuffle=True):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x).squeeze(1), y)
        loss.backward()
        opt.step()
        total += loss.item()
    print("epoch", epoch, "mse", total / 20)
