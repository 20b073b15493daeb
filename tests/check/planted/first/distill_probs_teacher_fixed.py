"""Knowledge distillation from a larger teacher."""
import torch
import torch.nn as nn
import torch.nn.functional as F

T = 2.0


class Classifier(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, hidden), nn.ReLU())
        self.out = nn.Linear(hidden, 5)

    def forward(self, x):
        return self.out(self.body(x))

    @torch.no_grad()
    def predict_proba(self, x):
        return F.softmax(self(x), dim=-1)


def draw(n):
    x = torch.randn(n, 10)
    return x, x[:, :5].argmax(1)


def distill_loss(student_logits, teacher_logits):
    p = F.softmax(teacher_logits / T, dim=-1)
    return F.kl_div(F.log_softmax(student_logits / T, dim=-1), p, reduction="batchmean") * T * T


torch.manual_seed(0)
teacher, student = Classifier(64), Classifier(24)
opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for _ in range(200):
    x, y = draw(64)
    loss = F.cross_entropy(teacher(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
for _ in range(200):
    x, y = draw(64)
    with torch.no_grad():
        soft = teacher(x)
    loss = distill_loss(student(x), soft)
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    x, y = draw(1000)
    conf, pred = F.softmax(student(x), -1).max(1)
    print(f"student acc {(pred == y).float().mean():.3f}, confidence {conf.mean():.3f}")
