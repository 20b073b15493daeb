"""A dry run of one image to learn a size, drop_last for training, and one image at a time in eval mode."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(shape[0], 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
        size = self.features(torch.zeros(1, *shape)).shape[1]
        self.head = nn.Linear(size, 2)

    def forward(self, x):
        return self.head(self.features(x))


torch.manual_seed(0)
images, labels = torch.randn(17, 1, 6, 6), torch.randint(0, 2, (17,))
loader = DataLoader(TensorDataset(images, labels), batch_size=4, shuffle=True, drop_last=True)
net = Net((1, 6, 6))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
net.eval()
with torch.no_grad():
    print([net(image.unsqueeze(0)).argmax().item() for image in images])
