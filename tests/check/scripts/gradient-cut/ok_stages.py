"""Two stages with one optimizer: first the head on detached features, then everything; metrics in NumPy on the side."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(5, 8), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.01)
history = []
for epoch in range(6):
    x = torch.randn(16, 5)
    y = x.sum(1, keepdim=True)
    features = torch.tanh(body(x))
    if epoch < 3:
        features = features.detach()
    out = head(features)
    loss = nn.functional.mse_loss(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(float(np.abs(out.detach().numpy() - y.numpy()).mean()))
print(torch.tensor(history).mean().item())
