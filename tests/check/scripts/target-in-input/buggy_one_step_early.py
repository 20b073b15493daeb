import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
W = 16


class Series(Dataset):
    def __init__(self, data):
        self.data = data

    def __len__(self):
        return len(self.data) - W - 1

    def __getitem__(self, i):
        window = self.data[i:i + W]
        target = self.data[i + W - 1]  # <- finding
        return window, target


data = torch.sin(torch.arange(500) / 7) + 0.2 * torch.randn(500)
loader = DataLoader(Series(data), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(W, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
