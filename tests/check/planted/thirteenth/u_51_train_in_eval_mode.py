import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(61)


def build():
    return nn.Sequential(
        nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.4), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 3)
    )


def domain(n, shift):
    x = torch.randn(n, 12) + shift
    centred = x - shift
    return x, (centred[:, :3] + 0.5 * centred[:, 3:6] * centred[:, 6:9]).argmax(1)


def accuracy(model, x, y):
    was_training = model.training
    model.eval()
    with torch.no_grad():
        acc = (model(x).argmax(1) == y).float().mean().item()
    model.train(was_training)
    return acc


def fit(model, x, y, epochs, lr, anchor=None):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(epochs):
        for idx in torch.randperm(len(x)).split(32):  # BUG train-in-eval-mode
            logits = model(x[idx])  # BUG train-in-eval-mode
            loss = F.cross_entropy(logits, y[idx])
            if anchor is not None:
                with torch.no_grad():
                    soft = F.softmax(anchor(x[idx]), dim=1)
                loss = loss + 0.1 * F.kl_div(F.log_softmax(logits, dim=1), soft, reduction="batchmean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


x_a, y_a = domain(640, 0.0)
x_b, y_b = domain(640, 2.0)
teacher = build()
fit(teacher, x_a, y_a, 8, 3e-3)
teacher.eval()  # BUG train-in-eval-mode
for p in teacher.parameters():
    p.requires_grad_(False)

student = copy.deepcopy(teacher)  # BUG train-in-eval-mode
for p in student.parameters():
    p.requires_grad_(True)
print(f"before adaptation {accuracy(student, x_b[512:], y_b[512:]):.3f}")
fit(student, x_b[:512], y_b[:512], 10, 2e-3, anchor=teacher)  # BUG train-in-eval-mode
print(f"after adaptation {accuracy(student, x_b[512:], y_b[512:]):.3f}")
print(f"batch norm mean of the student {student[1].running_mean.mean().item():.3f} teacher {teacher[1].running_mean.mean().item():.3f}")
