"""log_softmax and nll_loss, as module and as functions, with a log of clamped probabilities too."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4), nn.LogSoftmax(dim=1))
plain = nn.Linear(6, 4)
optimizer = torch.optim.SGD([*model.parameters(), *plain.parameters()], lr=0.1)
criterion = nn.NLLLoss()
x, y = torch.randn(24, 6), torch.randint(0, 4, (24,))
for _ in range(4):
    optimizer.zero_grad()
    probabilities = F.softmax(plain(x), dim=-1)
    loss = criterion(model(x), y) + F.nll_loss(torch.log(probabilities + 1e-8), y)
    loss.backward()
    optimizer.step()
print(loss.item())
