"""Knowledge distillation: a wide teacher, a narrow student trained on soft targets only."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)
TEMPERATURE = 2.0


def mlp(width):
    return nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 5))


def batches(x, y, size=50):
    for idx in torch.randperm(len(x)).split(size):
        yield x[idx], y[idx]


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


centers = torch.randn(5, 16)
y = torch.randint(0, 5, (1500,))
x = centers[y] + torch.randn(1500, 16)
x_train, y_train, x_test, y_test = x[:1200], y[:1200], x[1200:], y[1200:]

teacher = mlp(64)
optimizer = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for _ in range(5):
    teacher.train()
    for xb, yb in batches(x_train, y_train):
        optimizer.zero_grad()
        F.cross_entropy(teacher(xb), yb).backward()
        optimizer.step()
print(f"teacher accuracy {accuracy(teacher, x_test, y_test):.3f}")

student = mlp(8)
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
for epoch in range(8):
    student.train()
    for xb, _ in batches(x_train, y_train):
        with torch.no_grad():
            soft = F.softmax(teacher(xb) / TEMPERATURE, dim=1)  # BUG logits-as-probs|probs-as-logits
        guess = F.softmax(student(xb) / TEMPERATURE, dim=1)  # BUG logits-as-probs|probs-as-logits
        loss = F.kl_div(guess, soft, reduction="batchmean") * TEMPERATURE**2  # BUG logits-as-probs|probs-as-logits
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} kl {loss.item():.3f} student accuracy {accuracy(student, x_test, y_test):.3f}")
