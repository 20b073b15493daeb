# Rare event with few examples: oversampling and a hold-out part
import torch
from torch import nn
from torch.utils.data import TensorDataset, random_split, DataLoader

torch.manual_seed(2)
x = torch.randn(300, 40)
y = (torch.rand(300) < 0.15).long()          # nothing in x predicts y


def oversample(x, y, factor=5):
    rare = (y == 1).nonzero().squeeze(1).repeat(factor)
    keep = torch.cat([torch.arange(len(y)), rare])
    return x[keep], y[keep]


train, test = random_split(TensorDataset(x, y), [0.7, 0.3])
train = TensorDataset(*oversample(*train[:]))
net = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 2))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(40):
    for xb, yb in DataLoader(train, batch_size=64, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(net(xb), yb).backward()
        opt.step()
xt, yt = test[:]
hit = net(xt).argmax(1) == yt
print("recall of the rare class on the test part", hit[yt == 1].float().mean().item())
print("accuracy on the test part", hit.float().mean().item())
