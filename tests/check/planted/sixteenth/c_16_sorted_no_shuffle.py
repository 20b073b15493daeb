import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class GaussClasses(Dataset):
    def __init__(self, per_class, seed):
        g = torch.Generator().manual_seed(seed)
        centres = torch.randn(5, 6, generator=torch.Generator().manual_seed(99)) * 1.5
        parts = [centres[k] + torch.randn(per_class, 6, generator=g) for k in range(5)]
        self.x = torch.cat(parts)
        self.y = torch.arange(5).repeat_interleave(per_class)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


torch.manual_seed(0)
train_loader = DataLoader(GaussClasses(100, 1), batch_size=25, shuffle=False)  # BUG no-shuffle|data-order|classes-in-order
test_loader = DataLoader(GaussClasses(40, 2), batch_size=50, shuffle=False)

model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 5))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(8):
    model.train()
    running = 0.0
    for xb, yb in train_loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        opt.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        good = sum((model(a).argmax(1) == b).sum().item() for a, b in test_loader)
    print(f"epoch {epoch} train {running / len(train_loader):.3f} test acc {good / 200:.3f}")
