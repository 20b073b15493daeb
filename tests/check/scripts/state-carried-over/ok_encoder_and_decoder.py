"""The decoder begins with the encoder's state, and goes on step by step."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(80, 6, 2)
loader = DataLoader(TensorDataset(x), batch_size=10, shuffle=True)
encoder, decoder = nn.GRU(2, 8, batch_first=True), nn.GRU(2, 8, batch_first=True)
head = nn.Linear(8, 2)
optimizer = torch.optim.Adam(nn.ModuleList([encoder, decoder, head]).parameters(), lr=1e-2)
for (rows,) in loader:
    _, state = encoder(rows[:, :3])
    given, loss = rows[:, 2:3], 0.0
    for t in range(3, 6):
        out, state = decoder(given, state)
        given = head(out)
        loss = loss + nn.functional.mse_loss(given, rows[:, t : t + 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
