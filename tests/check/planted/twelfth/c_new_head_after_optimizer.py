"""Transfer learning: ten classes become four."""

import torch
import torch.nn as nn
import torch.optim as optim


class Backbone(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU()
        )
        self.fc = nn.Linear(16 * 3 * 3, num_classes)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def build_optimizer(model):
    return optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


torch.manual_seed(10)
model_ft = Backbone()
optimizer_ft = build_optimizer(model_ft)  # BUG param-replaced
model_ft.fc = nn.Linear(model_ft.fc.in_features, 4)  # BUG param-replaced

criterion = nn.CrossEntropyLoss()
for it in range(20):
    labels = torch.randint(0, 4, (16,))
    images = 0.3 * torch.randn(16, 1, 16, 16)
    for k, lab in enumerate(labels.tolist()):
        images[k, 0, 4 * lab : 4 * lab + 3] += 1.0
    optimizer_ft.zero_grad()
    loss = criterion(model_ft(images), labels)
    loss.backward()
    optimizer_ft.step()
print("last loss", loss.item())
