"""All outputs of all epochs are kept, detached, and never used."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(256, 8), torch.randint(0, 10, (256,))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=32, shuffle=True)
model = nn.Linear(8, 10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
outputs = []
for epoch in range(3):
    for xb, yb in loader:
        out = model(xb)
        loss = nn.functional.cross_entropy(out, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        outputs.append(out.detach())  # <- finding
    print(epoch, loss.item())
