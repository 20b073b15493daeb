from contextlib import contextmanager
import torch
import torch.nn as nn

torch.manual_seed(4)


@contextmanager
def fresh_gradients(optimizer):
    optimizer.zero_grad()
    yield
    optimizer.zero_grad(set_to_none=False)  # BUG zero-between-backward-and-step


X = torch.randn(500, 7)
Y = torch.sin(X[:, :1]) + X[:, 1:2] * X[:, 2:3]
net = nn.Sequential(nn.Linear(7, 40), nn.Tanh(), nn.Linear(40, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

for epoch in range(25):
    for xb, yb in zip(X[:400].split(40), Y[:400].split(40)):
        with fresh_gradients(optimizer):
            loss = nn.functional.mse_loss(net(xb), yb)
            loss.backward()
        optimizer.step()  # BUG zero-between-backward-and-step
    if epoch % 6 == 0:
        with torch.no_grad():
            print(f"epoch {epoch} train {loss.item():.4f} test {nn.functional.mse_loss(net(X[400:]), Y[400:]).item():.4f}")
with torch.no_grad():
    print("final test", nn.functional.mse_loss(net(X[400:]), Y[400:]).item())
