# Denoising pairs: input and target are drawn by two different random indices
import random
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = inputs, outputs

    def __len__(self):
        return len(self.inputs)

    def pick(self, table):
        return table[random.randrange(len(table))]

    def __getitem__(self, index):
        return self.pick(self.inputs), self.pick(self.outputs)  # BUG loss-at-chance


random.seed(37)
torch.manual_seed(37)
x = torch.randn(400, 8)
y = (x[:, 0] + x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loader = DataLoader(Pairs(x, y), batch_size=25)
for epoch in range(10):
    for a, b in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(a), b)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
