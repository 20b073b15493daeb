"""Classification of sensor readings, evaluated after each epoch."""

import torch
import torch.nn as nn
import torch.optim as optim


def evaluate(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(dim=1) == y).float().mean().item()


torch.manual_seed(2)
x_train, x_test = torch.randn(256, 10), torch.randn(64, 10)
w = torch.randn(10, 3)
y_train, y_test = (x_train @ w).argmax(1), (x_test @ w).argmax(1)

net = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Dropout(0.4), nn.Linear(48, 3))
optimizer = optim.Adam(net.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()

net.train()  # BUG train-in-eval-mode
for epoch in range(5):
    order = torch.randperm(256)
    for chunk in order.split(64):
        optimizer.zero_grad()
        loss = loss_fn(net(x_train[chunk]), y_train[chunk])  # BUG train-in-eval-mode
        loss.backward()
        optimizer.step()
    acc = evaluate(net, x_test, y_test)  # BUG train-in-eval-mode
    print(f"epoch {epoch}: accuracy {acc:.2f}")
