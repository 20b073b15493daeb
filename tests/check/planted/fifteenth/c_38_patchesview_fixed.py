"""CNN on channels-last images (as they come from NumPy)."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def to_chw(img):
    h, w, c = img.shape
    return torch.from_numpy(img).permute(2, 0, 1).contiguous()


class Colours(Dataset):
    """Class = the channel that is brighter in the left half of the image."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 3, size=n)
        self.images = rng.normal(0, 0.5, size=(n, 8, 8, 3)).astype(np.float32)
        for i, k in enumerate(self.labels):
            self.images[i, :, :4, k] += 1.0

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return to_chw(self.images[i]), int(self.labels[i])


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 12, 3, padding=1)
        self.fc = nn.Linear(12 * 16, 3)

    def forward(self, x):
        h = nn.functional.max_pool2d(torch.relu(self.conv(x)), 2)
        return self.fc(h.flatten(1))


torch.manual_seed(0)
loader = DataLoader(Colours(640, 0), batch_size=32, shuffle=True)
model = CNN()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(epoch, total / len(loader))
