import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

torch.manual_seed(1)
n, d, k = 900, 20, 5
centers = torch.randn(k, d)
y = torch.randint(0, k, (n,))
x = centers[y] + 1.2 * torch.randn(n, d)
x_train, y_train, x_val, y_val = x[:600], y[:600], x[600:], y[600:]


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(dim=1) == y).float().mean().item()


def main():
    model = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, k))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    sched = ReduceLROnPlateau(opt, factor=0.2, patience=1)  # BUG lr-absurd
    for epoch in range(15):
        model.train()
        perm = torch.randperm(len(x_train))
        running = 0.0
        for i in range(0, len(perm), 50):
            idx = perm[i:i + 50]
            opt.zero_grad()
            loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
            loss.backward()
            opt.step()
            running += loss.item()
        val_acc = accuracy(model, x_val, y_val)
        sched.step(val_acc)  # BUG lr-absurd
        print(f"epoch {epoch} loss {running / 12:.3f} val {val_acc:.3f} lr {opt.param_groups[0]['lr']:.5f}")


main()
