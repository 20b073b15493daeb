"""Knowledge distillation: a wide teacher into a narrow student."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


@dataclass
class Config:
    classes: int = 5
    features: int = 16
    temperature: float = 3.0
    alpha: float = 0.6
    batch_size: int = 40
    epochs: int = 3
    seed: int = 11


def mlp(features, width, classes, dropout):
    return nn.Sequential(
        nn.Linear(features, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(dropout),
        nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, classes),
    )


def blobs(cfg, n=400):
    centers = torch.randn(cfg.classes, cfg.features) * 1.5
    y = torch.randint(cfg.classes, (n,))
    return TensorDataset(centers[y] + torch.randn(n, cfg.features), y)


def fit_teacher(teacher, loader):
    optimizer = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    teacher.train()
    for _ in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(teacher(x), y).backward()
            optimizer.step()


def distill(student, teacher, loader, optimizer, cfg):
    student.train()
    teacher.eval()
    for x, y in loader:
        with torch.no_grad():
            soft = F.softmax(teacher(x) / cfg.temperature, dim=1)
        logits = student(x)
        kd = F.kl_div(F.log_softmax(logits / cfg.temperature, dim=1), soft, reduction="batchmean")
        loss = cfg.alpha * cfg.temperature ** 2 * kd + (1 - cfg.alpha) * F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


@torch.no_grad()
def accuracy(student, teacher, loader):
    student.eval()
    hits = sum((student(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


cfg = Config()
torch.manual_seed(cfg.seed)
train_set, val_set = random_split(blobs(cfg), [320, 80])
train_loader = DataLoader(train_set, cfg.batch_size, shuffle=True)
val_loader = DataLoader(val_set, cfg.batch_size)
teacher = mlp(cfg.features, 64, cfg.classes, 0.2)
student = mlp(cfg.features, 16, cfg.classes, 0.2)
fit_teacher(teacher, train_loader)
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
for epoch in range(cfg.epochs):
    loss = distill(student, teacher, train_loader, optimizer, cfg)
    print(epoch, round(loss, 3), round(accuracy(student, teacher, val_loader), 3))
