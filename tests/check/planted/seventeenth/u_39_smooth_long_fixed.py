import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(38)


class Votes(Dataset):
    """Each item was tagged by five annotators; the label is the share that said yes."""

    def __init__(self, n=400, tags=6):
        self.x = torch.randn(n, 16)
        w = torch.randn(16, tags)
        p = torch.sigmoid(self.x @ w)
        self.share = torch.distributions.Binomial(5, p).sample() / 5

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.share[i]


loader = DataLoader(Votes(), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(8):
    for x, share in loader:
        optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, share.float())
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), torch.sigmoid(out).mean().item())
