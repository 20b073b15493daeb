import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, random_split

torch.manual_seed(26)


class Windows(Dataset):
    def __init__(self, series, width=24):
        self.series, self.width = series, width

    def __len__(self):
        return len(self.series) - self.width

    def __getitem__(self, i):
        return self.series[i:i + self.width], self.series[i + self.width]


walk = torch.cumsum(0.1 * torch.randn(600), 0)
walk = (walk - walk[:400].mean()) / walk[:400].std()
dataset = Windows(walk)
train_set = Subset(dataset, range(0, len(dataset) - 124))
val_set = Subset(dataset, range(len(dataset) - 100, len(dataset)))
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=100)

model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
mse = nn.MSELoss()
for epoch in range(10):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = mse(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val = sum(mse(model(x).squeeze(1), y).item() for x, y in val_loader) / len(val_loader)
    print(epoch, loss.item(), val)
