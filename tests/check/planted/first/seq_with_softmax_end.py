"""Flower classifier."""
import torch
from torch import nn, optim

torch.manual_seed(42)

model = nn.Sequential(
    nn.Linear(8, 32),
    nn.ReLU(),
    nn.Linear(32, 6),
    nn.Softmax(dim=1),  # BUG softmax-before-ce
)

centers = torch.randn(6, 8)


def get_batch(n):
    labels = torch.randint(0, 6, (n,))
    return centers[labels] + torch.randn(n, 8) * 0.6, labels


loss_fn = nn.CrossEntropyLoss()
optimizer = optim.Adam(model.parameters(), lr=5e-3)

for i in range(200):
    inputs, labels = get_batch(64)
    outputs = model(inputs)
    loss = loss_fn(outputs, labels)  # BUG softmax-before-ce
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 50 == 0:
        print(f"[{i}] loss: {loss.item():.3f}")

with torch.no_grad():
    inputs, labels = get_batch(500)
    print("loss", loss.item(), "accuracy", (model(inputs).argmax(1) == labels).float().mean().item())
