# Predict star ratings (0.0 .. 1.0 after scaling)
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class Ratings(Dataset):
    def __init__(self, n=600):
        g = torch.Generator().manual_seed(1)
        self.x = torch.randn(n, 6, generator=g)
        self.stars = torch.sigmoid(self.x[:, 0] * 1.5 + self.x[:, 1])

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.stars[i]


torch.manual_seed(1)
data = Ratings()
loader = DataLoader(data, batch_size=50, shuffle=True)
model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1), nn.Sigmoid())
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loss_fn = nn.MSELoss()

for epoch in range(10):
    for features, stars in loader:
        optimizer.zero_grad()
        pred = model(features).squeeze(1)
        loss = loss_fn(pred, stars.float())
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", round(loss.item(), 6))

with torch.no_grad():
    pred = model(data.x).squeeze(1)
corr = torch.corrcoef(torch.stack([pred, data.stars]))[0, 1].item()
print(f"mean prediction {pred.mean():.3f}, mean rating {data.stars.mean():.3f}, corr {corr:.3f}")
