"""Knowledge distillation from a wide to a narrow network."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
TEMPERATURE = 2.0


def mlp(width):
    return nn.Sequential(nn.Linear(12, width), nn.Tanh(), nn.Linear(width, 5))


def sample(n, centers):
    y = torch.randint(0, 5, (n,))
    which = torch.randint(0, 2, (n,))
    return centers[y, which] + 0.8 * torch.randn(n, 12), y


centers = torch.randn(5, 2, 12)
x, y = sample(900, centers)
x_test, y_test = sample(300, centers)

teacher = mlp(96)
opt = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(80):
    idx = torch.randint(0, 900, (64,))
    loss = F.cross_entropy(teacher(x[idx]), y[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()

student = mlp(8)
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
for step in range(150):
    idx = torch.randint(0, 900, (64,))
    with torch.no_grad():
        soft = F.softmax(teacher(x[idx]) / TEMPERATURE, dim=1)
    guess = F.softmax(student(x[idx]) / TEMPERATURE, dim=1)  # BUG softmax-before-ce
    loss = F.cross_entropy(guess, soft)  # BUG softmax-before-ce
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        with torch.no_grad():
            acc = (student(x_test).argmax(1) == y_test).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.3f} student accuracy {acc:.3f}")
