"""Deep classifier on a checkerboard in the style of an old textbook."""
import torch
import torch.nn as nn


def build_mlp(in_dim, width, depth, classes):
    layers = []
    for i in range(depth):
        layers.append(nn.Linear(in_dim if i == 0 else width, width))
        layers.append(nn.LeakyReLU(0.1))
    layers.append(nn.Linear(width, classes))
    net = nn.Sequential(*layers)
    for m in net.modules():
        if isinstance(m, nn.Linear):
            nn.init.kaiming_normal_(m.weight)
            nn.init.zeros_(m.bias)
    return net


def checkerboard(n):
    x = 4 * torch.rand(n, 2) - 2
    y = (x.floor().sum(dim=1) % 2).long()
    return x, y


torch.manual_seed(0)
x, y = checkerboard(1500)
x_test, y_test = checkerboard(300)
net = build_mlp(2, 48, depth=10, classes=2)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for step in range(200):
    idx = torch.randint(0, len(x), (128,))
    loss = criterion(net(x[idx]), y[idx])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1} loss {loss.item():.4f}")

with torch.no_grad():
    acc = (net(x_test).argmax(dim=1) == y_test).float().mean().item()
print("test accuracy", acc)
