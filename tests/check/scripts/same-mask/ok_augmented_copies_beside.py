import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
def augment(image):
    return image.roll(int(torch.randint(-2, 3, ())), -1) + 0.2 * torch.randn_like(image)
labels = torch.arange(2).repeat(40)
images = torch.zeros(80, 1, 10, 10)
images[labels == 0, :, 4:6, :] = 1
images[labels == 1, :, :, 4:6] = 1
images = torch.cat([images, *[torch.stack([augment(i) for i in images]) for _ in range(2)]])
labels = labels.repeat(3)
loader = DataLoader(TensorDataset(images, labels), batch_size=20, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
print(loss.item())
