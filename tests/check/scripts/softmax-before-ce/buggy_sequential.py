"""nn.Softmax as the last layer of a Sequential."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(6, 12),
    nn.ReLU(),
    nn.Linear(12, 3),
    nn.Softmax(dim=-1),  # <- finding
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.CrossEntropyLoss()
x, y = torch.randn(24, 6), torch.randint(0, 3, (24,))
for _ in range(5):
    probabilities = model(x)
    loss = loss_fn(probabilities, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
