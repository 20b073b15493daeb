# Transfer: a "pretrained" trunk gets a new head
import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(self.features(x))


torch.manual_seed(2)
model = Backbone()
model.fc = nn.Linear(model.fc.in_features, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
x = torch.randn(300, 16)
y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
for epoch in range(8):
    for i in range(0, 300, 30):
        loss = nn.functional.cross_entropy(model(x[i:i + 30]), y[i:i + 30])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
