import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR


def train(model, x, y, epochs=6, batch=20):
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    sched = CosineAnnealingLR(opt, T_max=epochs * len(x) // batch)
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(batch):
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
        print(f"epoch {epoch}: loss {loss.item():.4f}")


torch.manual_seed(10)
y = torch.randint(0, 4, (300,))
x = torch.randn(4, 10)[y] * 2 + torch.randn(300, 10)
train(nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4)), x, y)
