"""Feature distillation: the teacher lives inside the student module."""
import torch
from torch import nn


def make_encoder(width, p):
    return nn.Sequential(nn.Linear(14, width), nn.ReLU(), nn.Dropout(p), nn.Linear(width, 16))


class FeatureDistiller(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self.student = make_encoder(24, 0.1)
        self.teacher = teacher
        self.teacher.requires_grad_(False)
        self.teacher.eval()

    def train(self, mode=True):
        super().train(mode)
        self.teacher.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            target = self.teacher(x)
        return nn.functional.mse_loss(self.student(x), target)


def pretrain(x, y):
    encoder, head = make_encoder(64, 0.3), nn.Linear(16, 4)
    opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=3e-3)
    for _ in range(3):
        for idx in torch.randperm(len(x)).split(50):
            opt.zero_grad()
            nn.functional.cross_entropy(head(encoder(x[idx])), y[idx]).backward()
            opt.step()
    return encoder


torch.manual_seed(0)
x = torch.randn(800, 14)
y = (x @ torch.randn(14, 4)).argmax(1)
model = FeatureDistiller(pretrain(x, y))
opt = torch.optim.Adam(model.student.parameters(), lr=3e-3)
for epoch in range(4):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(50):
        loss = model(x[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(epoch, total / 16)
