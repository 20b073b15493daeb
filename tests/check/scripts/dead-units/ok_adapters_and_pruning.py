"""An adapter that begins at zero, a layer whose pruned units are zero on purpose, and a frozen random layer."""

import torch
from torch import nn

torch.manual_seed(0)
frozen = nn.Linear(3, 16).requires_grad_(False)
down, up = nn.Linear(16, 8), nn.Linear(8, 16)
nn.init.zeros_(down.weight)
nn.init.zeros_(down.bias)
pruned = nn.Linear(16, 12)
keep = (torch.arange(12) < 4).float()
head = nn.Linear(12, 2)
optimizer = torch.optim.SGD([*down.parameters(), *up.parameters(), *pruned.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(64, 3), torch.randint(0, 2, (64,))
for step in range(8):
    h = torch.relu(frozen(x) - 4)
    h = h + up(torch.relu(down(h)))
    h = torch.relu(nn.functional.linear(h, pruned.weight * keep.unsqueeze(1), pruned.bias * keep))
    loss = nn.functional.cross_entropy(head(h), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
