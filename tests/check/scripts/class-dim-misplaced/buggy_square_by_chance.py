"""As many classes as time steps: nothing raises, and the classes are taken for the time."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
steps = classes = 6
encoder, head = nn.Linear(3, 10), nn.Linear(10, classes)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(5, steps, 3), torch.randint(0, classes, (5, steps))
for _ in range(4):
    logits = head(torch.tanh(encoder(x)))
    loss = F.cross_entropy(logits, y)  # <- finding
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
