import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, n):
        gen = torch.Generator().manual_seed(0)
        self.pixels = torch.randint(0, 256, (n, 1, 8, 8), generator=gen, dtype=torch.uint8)
        self.labels = (self.pixels.float().mean((1, 2, 3)) > 127).long()

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.pixels[i].float() / 255
        image = (image - 0.5) / 0.5
        return image, self.labels[i]


torch.manual_seed(14)
loader = DataLoader(Pictures(320), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(4):
    for images, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
