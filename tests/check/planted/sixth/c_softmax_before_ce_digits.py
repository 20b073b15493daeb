import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DigitNet(nn.Module):
    """Small CNN for 8x8 digit-like patterns."""

    def __init__(self, n_classes=10):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc1 = nn.Linear(8 * 4 * 4, 32)
        self.fc2 = nn.Linear(32, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return F.softmax(self.fc2(x), dim=1)  # BUG softmax-before-ce


def make_data(n, templates):
    labels = torch.randint(0, 10, (n,))
    images = templates[labels] + 0.6 * torch.randn(n, 1, 8, 8)
    return images, labels


templates = torch.randn(10, 1, 8, 8)
xtr, ytr = make_data(1000, templates)
xte, yte = make_data(300, templates)

net = DigitNet()
loss_fn = nn.CrossEntropyLoss()  # BUG softmax-before-ce
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

for epoch in range(6):
    perm = torch.randperm(len(xtr))
    for i in range(0, len(xtr), 50):
        idx = perm[i:i + 50]
        opt.zero_grad()
        loss = loss_fn(net(xtr[idx]), ytr[idx])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        out = net(xte)
        print(epoch, "test loss %.3f" % loss_fn(out, yte).item(), "acc %.3f" % (out.argmax(1) == yte).float().mean().item())
    net.train()
