import torch
import torch.nn as nn
import torch.nn.functional as F


class WineNet(nn.Module):
    """Grade wines into 10 quality levels."""

    def __init__(self, n_feat=11, n_grades=10):
        super().__init__()
        self.fc1 = nn.Linear(n_feat, 48)
        self.fc2 = nn.Linear(48, n_grades)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return F.softmax(self.fc2(x), dim=1)  # BUG softmax-before-ce


def make_data(n, centers):
    y = torch.randint(0, 10, (n,))
    return centers[y] + 0.7 * torch.randn(n, 11), y


torch.manual_seed(0)
centers = torch.randn(10, 11)
x, y = make_data(1000, centers)
xv, yv = make_data(300, centers)
net = WineNet()
criterion = nn.CrossEntropyLoss()  # BUG softmax-before-ce
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for epoch in range(12):
    for s in range(0, 1000, 50):
        opt.zero_grad()
        loss = criterion(net(x[s:s + 50]), y[s:s + 50])
        loss.backward()
        opt.step()
    if epoch % 3 == 2:
        with torch.no_grad():
            val = criterion(net(xv), yv).item()
            acc = (net(xv).argmax(1) == yv).float().mean().item()
        print(f"[{epoch + 1}] val loss {val:.3f} acc {acc:.3f}")
