# Traffic sign shapes.
import torch
from torch import nn

torch.manual_seed(1)


def init_weights(m):
    if isinstance(m, (nn.Linear, nn.Conv2d)):
        nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        nn.init.zeros_(m.bias)


def signs(n):
    yy, xx = torch.meshgrid(torch.arange(10.0), torch.arange(10.0), indexing="ij")
    r = ((yy - 4.5) ** 2 + (xx - 4.5) ** 2).sqrt()
    shapes = torch.stack([(r < 4).float(), ((yy - 4.5).abs() < 3).float() * ((xx - 4.5).abs() < 3).float(),
                          (xx - 4.5).abs().mul(2).lt(yy).float()])
    k = torch.randint(0, 3, (n,))
    return shapes[k].unsqueeze(1) + 0.5 * torch.randn(n, 1, 10, 10), k


net = nn.Sequential(
    nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(6 * 16, 32), nn.ReLU(), nn.Linear(32, 3),
)
net.apply(init_weights)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
x, y = signs(500)
xv, yv = signs(300)
for epoch in range(6):
    for idx in torch.randperm(500).split(25):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(f"epoch {epoch} loss {loss.item():.4f} val {(net(xv).argmax(1) == yv).float().mean():.3f}")
