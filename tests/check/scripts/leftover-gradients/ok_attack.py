import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(27)


def fgsm(model, x, y, eps=0.4):
    x = x.clone().requires_grad_(True)
    loss = F.cross_entropy(model(x), y)
    (grad,) = torch.autograd.grad(loss, x)
    return (x + eps * grad.sign()).detach()


model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
w = torch.randn(10, 3)
for step in range(150):
    x = torch.randn(64, 10)
    y = (x @ w).argmax(1)
    optimizer.zero_grad()
    x_adv = fgsm(model, x, y)
    loss = F.cross_entropy(model(x_adv), y)
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(step, loss.item())
