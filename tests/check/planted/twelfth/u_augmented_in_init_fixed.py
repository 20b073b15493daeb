"""Images are augmented by random noise and shifts."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def augment(image):
    shift = int(torch.randint(-2, 3, ()))
    return image.roll(shift, dims=-1) + 0.3 * torch.randn_like(image)


class Augmented(Dataset):
    def __init__(self, images, labels):
        self.images = images
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return augment(self.images[i]), self.labels[i]


torch.manual_seed(58)
labels = torch.arange(2).repeat(40)
images = torch.zeros(80, 1, 10, 10)
images[labels == 0, :, 4:6, :] = 1
images[labels == 1, :, :, 4:6] = 1
loader = DataLoader(Augmented(images, labels), batch_size=20, shuffle=True)
model = nn.Sequential(
    nn.Conv2d(1, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(24, 2)
)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
print(loss.item())
