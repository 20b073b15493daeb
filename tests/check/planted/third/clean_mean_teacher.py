"""Mean teacher: few labels, consistency on unlabelled points, teacher is an EMA of the student."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def spirals(n):
    y = torch.randint(0, 2, (n,))
    r = 0.3 + 2.0 * torch.rand(n)
    angle = 2 * r + 3.1416 * y
    x = torch.stack([r * angle.cos(), r * angle.sin()], 1) + 0.05 * torch.randn(n, 2)
    return x, y


x_lab, y_lab = spirals(60)
x_unl, _ = spirals(600)
x_test, y_test = spirals(200)

student = nn.Sequential(
    nn.Linear(2, 48), nn.SiLU(), nn.Dropout(0.1), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 2)
)
teacher = copy.deepcopy(student)
teacher.requires_grad_(False)
opt = torch.optim.Adam(student.parameters(), lr=5e-3)

for step in range(200):
    student.train()
    teacher.train()  # the teacher is noisy too while it gives targets
    batch = x_unl[torch.randint(0, 600, (64,))]
    with torch.no_grad():
        target = teacher(batch + 0.05 * torch.randn_like(batch)).softmax(-1)
    guess = student(batch + 0.05 * torch.randn_like(batch)).softmax(-1)
    supervised = F.cross_entropy(student(x_lab), y_lab)
    weight = min(1.0, step / 100)
    loss = supervised + weight * F.mse_loss(guess, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    decay = min(0.98, 1 - 1 / (step + 2))
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.mul_(decay).add_(s, alpha=1 - decay)
    if step % 50 == 49:
        teacher.eval()
        with torch.no_grad():
            acc = (teacher(x_test).argmax(1) == y_test).float().mean().item()
        print(f"step {step + 1} supervised {supervised.item():.3f} teacher accuracy {acc:.3f}")
