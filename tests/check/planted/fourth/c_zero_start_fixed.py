import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, d_in, d_hidden, d_out):
        super().__init__()
        self.W1 = nn.Parameter(torch.randn(d_in, d_hidden) / d_in ** 0.5)
        self.b1 = nn.Parameter(torch.zeros(d_hidden))
        self.W2 = nn.Parameter(torch.randn(d_hidden, d_out) / d_hidden ** 0.5)
        self.b2 = nn.Parameter(torch.zeros(d_out))

    def forward(self, x):
        h = torch.tanh(x @ self.W1 + self.b1)
        return h @ self.W2 + self.b2


# four balanced classes of sensor patterns
centers = 1.5 * torch.randn(4, 10)
y = torch.arange(800) % 4
x = centers[y] + torch.randn(800, 10)
perm = torch.randperm(800)
x, y = x[perm], y[perm]
x_train, y_train, x_test, y_test = x[:600], y[:600], x[600:], y[600:]

net = Net(10, 20, 4)
optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
for epoch in range(10):
    for idx in torch.randperm(600).split(60):
        loss = F.cross_entropy(net(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        with torch.no_grad():
            acc = (net(x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")
