import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Adapter(nn.Module):
    def __init__(self, dim, bottleneck=8):
        super().__init__()
        self.down = nn.Linear(dim, bottleneck)
        self.up = nn.Linear(bottleneck, dim)

    def forward(self, x):
        return x + self.up(F.gelu(self.down(x)))


class Net(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(20, dim), nn.Tanh(), nn.Linear(dim, dim), nn.Tanh())
        self.adapter = Adapter(dim)
        self.head = nn.Linear(dim, 4)

    def forward(self, x):
        return self.head(self.adapter(self.backbone(x)))


def task(n, teacher):
    x = torch.randn(n, 20)
    return x, teacher(x).argmax(1)


def fit(model, params, x, y, steps):
    opt = torch.optim.Adam(params, lr=5e-3)
    for _ in range(steps):
        idx = torch.randperm(len(x))[:64]
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


with torch.no_grad():
    teacher_a = nn.Sequential(nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, 4))
    teacher_b = nn.Sequential(nn.Linear(20, 16), nn.Tanh(), nn.Linear(16, 4))
    source, target = task(800, teacher_a), task(600, teacher_b)

model = Net()
print("pretraining loss", fit(model, model.parameters(), *source, steps=100))

# second task: train adapter and head, keep the backbone
model.head.reset_parameters()
for p in model.parameters():  # BUG param-frozen
    p.requires_grad_(False)
for p in model.head.parameters():
    p.requires_grad_(True)
trainable = [p for p in model.parameters() if p.requires_grad]
print("fine-tuning loss", fit(model, trainable, *(t[:450] for t in target), steps=100))

with torch.no_grad():
    x, y = (t[450:] for t in target)
    print("target accuracy", (model(x).argmax(1) == y).float().mean().item())
