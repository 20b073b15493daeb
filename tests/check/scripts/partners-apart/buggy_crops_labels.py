import torch
from torch import nn

torch.manual_seed(27)
CROPS = 4
images = torch.randn(240, 1, 20) * 0.5
labels = torch.randint(0, 3, (240,))
images += torch.sin(torch.arange(20) * (labels[:, None, None] + 1) * 0.5)


def crops_of(batch):
    starts = torch.randint(0, 5, (CROPS,)).tolist()
    return torch.stack([batch[:, :, s : s + 16] for s in starts], 1)


model = nn.Sequential(nn.Conv1d(1, 16, 5), nn.ReLU(), nn.Flatten(), nn.Linear(192, 3))
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    total = 0.0
    for idx in torch.randperm(240).split(24):
        views = crops_of(images[idx]).flatten(0, 1)
        y = labels[idx].repeat(CROPS)  # <- finding
        loss = nn.functional.cross_entropy(model(views), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 10:.4f}")
