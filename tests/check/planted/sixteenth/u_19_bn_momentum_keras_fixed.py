import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ConvBN(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.conv = nn.Conv2d(c_in, c_out, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(c_out, eps=1e-3, momentum=0.01)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(ConvBN(1, 6), ConvBN(6, 6))
        self.fc = nn.Linear(6, 3)

    def forward(self, x):
        return self.fc(self.features(x).mean((2, 3)))


def textures(n):
    y = torch.randint(0, 3, (n,))
    x = torch.randn(n, 1, 8, 8) * (1.0 + 0.8 * y.float()).view(-1, 1, 1, 1)
    return x * (0.9 + 0.2 * torch.rand(n, 1, 1, 1)), y


torch.manual_seed(0)
x_tr, y_tr = textures(400)
x_te, y_te = textures(300)
train_dl = DataLoader(TensorDataset(x_tr, y_tr), batch_size=4, shuffle=True)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(7):
    net.train()
    total = 0.0
    for xb, yb in train_dl:
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        out = net(x_te)
        val = nn.functional.cross_entropy(out, y_te).item()
        acc = (out.argmax(1) == y_te).float().mean().item()
    print(f"epoch {epoch} train {total / len(train_dl):.4f} val {val:.4f} acc {acc:.3f}")
