import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(99)


class DeepNet(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.hidden = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes[:-2], sizes[1:-1])])
        self.out = nn.Linear(sizes[-2], sizes[-1])

    def forward(self, x):
        for layer in self.hidden:
            x = torch.relu(layer(x))
        return self.out(x)


def rings(n):
    label = torch.randint(0, 3, (n,))
    radius = label.float() + 0.5 + 0.1 * torch.randn(n)
    angle = torch.rand(n) * 6.2832
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1), label


x, y = rings(900)
x_train, y_train = x[:700], y[:700]
x_test, y_test = x[700:], y[700:]

net = DeepNet([2, 10, 10, 3])
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
print("trainable parameters:", sum(p.numel() for p in net.parameters()))

for epoch in range(25):
    net.train()
    for chunk in torch.randperm(700).split(70):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x_train[chunk]), y_train[chunk])
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        net.eval()
        with torch.no_grad():
            acc = (net(x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch + 1} loss {loss.item():.3f} accuracy {acc:.3f}")
