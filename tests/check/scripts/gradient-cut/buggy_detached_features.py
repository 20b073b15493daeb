"""A model that detaches the features of its own backbone; the backbone is in the optimizer and should be trained."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.fc = nn.Linear(16, 3)

    def forward(self, images):
        features = self.backbone(images)
        features = features.detach()  # <- finding
        return self.fc(features)


torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(24, 1, 6, 6), torch.randint(0, 3, (24,))), batch_size=8)
model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for images, labels in loader:
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")
