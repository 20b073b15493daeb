import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)


class Backbone(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.fc = nn.Linear(32, num_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def pretrain(model):
    w = torch.randn(16, 10)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(40):
        x = torch.randn(64, 16)
        loss = F.cross_entropy(model(x), (x @ w).argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def build_finetune(model, classes):
    for p in model.parameters():
        p.requires_grad = False
    model.fc = nn.Linear(32, classes)
    model.extra = nn.Linear(16, classes)
    return model


model = Backbone()
pretrain(model)
model = build_finetune(model, 3)
trainable = [p for p in model.parameters() if p.requires_grad]
opt = torch.optim.Adam(trainable, lr=1e-2)
w3 = torch.randn(16, 3)
for step in range(120):
    x = torch.randn(64, 16)
    target = (x @ w3).argmax(1)
    logits = model(x) + 0.01 * model.extra(x)
    loss = F.cross_entropy(logits, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("final", loss.item())
