"""Segmentation with a batch size of one: batch norm has one image."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.conv = nn.Conv2d(c_in, c_out, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(c_out)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)))


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(1, 4), Block(4, 4))
        self.out = nn.Conv2d(4, 2, 1)

    def forward(self, x):
        return self.out(self.blocks(x))


torch.manual_seed(0)
images = torch.rand(8, 1, 8, 8)
masks = (images[:, 0] > 0.5).long()
loader = DataLoader(TensorDataset(images, masks), batch_size=1, shuffle=True)  # <- finding
model = Segmenter()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model.train()
for image, mask in loader:
    logits = model(image)
    loss = nn.functional.cross_entropy(logits, mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
