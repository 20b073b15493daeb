"""Small conv net; validation each epoch, best score kept."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 8, 3, padding=1)
        self.b1 = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(8 * 9, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.b1(self.c1(x))), 2)
        return self.fc(self.drop(x.flatten(1)))


def stripes(n):
    y = torch.randint(0, 3, (n,))
    x = 0.7 * torch.randn(n, 1, 6, 6)
    for i, k in enumerate(y.tolist()):
        if k == 0:
            x[i, 0, ::2] += 1
        elif k == 1:
            x[i, 0, :, ::2] += 1
    return x, y


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    xtr, ytr = stripes(600)
    xva, yva = stripes(300)
    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(6):
        model.train()
        for idx in torch.randperm(600).split(50):
            opt.zero_grad()
            loss = F.cross_entropy(model(xtr[idx]), ytr[idx])
            loss.backward()
            opt.step()
        print(epoch, f"loss {loss.item():.3f} val {evaluate(model, xva, yva):.3f}")
