import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, mean=0.0, std=1.0)  # BUG exploding-gradient
        nn.init.zeros_(m.bias)


class Net(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        sizes = [20] + [width] * 7
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])
        self.out = nn.Linear(width, 3)
        self.apply(init_weights)

    def forward(self, x):
        for layer in self.layers:
            x = nn.functional.leaky_relu(layer(x), 0.2)
        return self.out(x)


centers = torch.randn(3, 20)
y = torch.randint(0, 3, (600,))
x = centers[y] + 1.5 * torch.randn(600, 20)
loader = DataLoader(TensorDataset(x[:480], y[:480]), batch_size=48, shuffle=True)

net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = (net(x[480:]).argmax(1) == y[480:]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} acc {acc:.3f}")
