import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)


def imbalanced(n):
    y = (torch.rand(n) < 0.1).long() + (torch.rand(n) < 0.05).long()
    centres = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    x = torch.cat([centres[y] + 0.7 * torch.randn(n, 2), torch.randn(n, 3)], dim=1)
    return x, y


x, y = imbalanced(600)
xt, yt = imbalanced(400)
counts = torch.bincount(y, minlength=3).float()
class_weights = 1.0 / counts
sampler = WeightedRandomSampler(class_weights, num_samples=len(y), replacement=True)  # BUG sampler-weights|data-waste
loader = DataLoader(TensorDataset(x, y), batch_size=30, sampler=sampler)

model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)


@torch.no_grad()
def per_class_recall():
    pred = model(xt).argmax(1)
    return [round((pred[yt == c] == c).float().mean().item(), 3) for c in range(3)]


for epoch in range(5):
    running = 0.0
    for xb, yb in loader:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item()
    print(f"epoch {epoch} loss {running / len(loader):.4f} recall {per_class_recall()}")
