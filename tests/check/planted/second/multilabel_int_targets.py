"""Multi-label genre tagging with targets made from id lists."""
import torch
from torch import nn

GENRES = ["rock", "jazz", "pop", "folk", "metal"]


def k_hot(ids, n=len(GENRES)):
    t = torch.zeros(n, dtype=torch.long)  # BUG label-dtype
    t[ids] = 1
    return t


class Songs(torch.utils.data.Dataset):
    def __init__(self, n):
        self.x = torch.randn(n, 8)
        self.tags = [[k for k in range(5) if row[k] > 0.5] for row in self.x]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], k_hot(self.tags[i])


torch.manual_seed(0)
loader = torch.utils.data.DataLoader(Songs(500), batch_size=50, shuffle=True)
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(8):
    for x, y in loader:
        loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)  # BUG label-dtype
        opt.zero_grad()
        loss.backward()
        opt.step()
print("bce", loss.item())
