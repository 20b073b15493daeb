# Face verification: cross entropy plus a centre loss with learned centres
import torch
from torch import nn


class CenterLoss(nn.Module):
    def __init__(self, classes, d):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(classes, d))

    def forward(self, features, labels):
        return (features - self.centers[labels]).pow(2).sum(1).mean()


class FaceNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 6))
        self.classify = nn.Linear(6, 5)

    def forward(self, x):
        z = self.embed(x)
        return z, self.classify(z)


torch.manual_seed(10)
labels = torch.randint(0, 5, (400,))
faces = torch.randn(5, 24)[labels] + 0.7 * torch.randn(400, 24)
net = FaceNet()
center = CenterLoss(5, 6)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)  # BUG param-not-in-optimizer
for epoch in range(6):
    for rows in torch.randperm(400).split(40):
        features, scores = net(faces[rows])
        loss = nn.functional.cross_entropy(scores, labels[rows]) + 0.05 * center(features, labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
