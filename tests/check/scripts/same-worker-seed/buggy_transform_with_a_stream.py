"""The stream is in a transform that the data set calls."""

import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class RandomFlip:
    def __init__(self, p=0.5, seed=0):
        self.p = p
        self.random = random.Random(seed)  # <- finding

    def __call__(self, x):
        return x.flip(-1) if self.random.random() < self.p else x


class Images(Dataset):
    def __init__(self, images, labels, transform=None):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image = self.images[i]
        if self.transform is not None:
            image = self.transform(image)
        return image, self.labels[i]


torch.manual_seed(0)
train = Images(torch.rand(12, 1, 4, 4), torch.randint(0, 2, (12,)), transform=RandomFlip())
loader = DataLoader(
    train,
    batch_size=4,
    shuffle=True,
    num_workers=2,
)
model = nn.Sequential(nn.Flatten(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for images, labels in loader:
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
