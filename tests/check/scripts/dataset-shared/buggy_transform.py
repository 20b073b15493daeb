import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split

torch.manual_seed(0)
class Points(Dataset):
    def __init__(self, x, y, transform=None):
        self.x, self.y, self.transform = x, y, transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i] if self.transform is None else self.transform(self.x[i])
        return x, self.y[i]


def jitter(x):
    return x + 0.3 * torch.randn_like(x)


x = torch.randn(160, 6)
y = (x[:, 0] > 0).long()
whole = Points(x, y)
train_part, val_part = random_split(whole, [120, 40])
train_part.dataset.transform = jitter  # <- finding
train, val = DataLoader(train_part, 20, shuffle=True), DataLoader(val_part, 20)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    model.train()
    for a, b in train:
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(sum((model(a).argmax(1) == b).sum().item() for a, b in val) / 40)
