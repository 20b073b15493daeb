import torch
import torch.nn as nn
import torch.nn.functional as F


class DeepMLP(nn.Module):
    def __init__(self, in_dim, hidden, out_dim, depth=3):
        super().__init__()
        dims = [in_dim] + [hidden] * depth
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(dims[:-1], dims[1:])])
        self.head = nn.Linear(hidden, out_dim)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.head(x)


def spirals(n):
    r = torch.rand(n) * 3
    c = torch.randint(0, 2, (n,))
    a = 2.2 * r + 3.1416 * c
    return torch.stack([r * a.cos(), r * a.sin()], 1) + 0.05 * torch.randn(n, 2), c


if __name__ == "__main__":
    torch.manual_seed(0)
    xtr, ytr = spirals(800)
    xte, yte = spirals(300)
    net = DeepMLP(2, 48, 2)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    print("trainable:", sum(p.numel() for p in net.parameters()))
    for epoch in range(200):
        loss = F.cross_entropy(net(xtr), ytr)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if epoch % 50 == 49:
            with torch.no_grad():
                acc = (net(xte).argmax(1) == yte).float().mean()
            print(f"{epoch + 1:4d} loss {loss.item():.4f} test acc {acc:.3f}")
