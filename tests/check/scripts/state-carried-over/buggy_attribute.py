"""The model keeps its state, which is cleared once per epoch, and the loader shuffles."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 2)
        self.state = None

    def forward(self, x):
        out, state = self.rnn(x, self.state)
        self.state = state.detach()
        return self.head(out[:, -1])


x = torch.randn(96, 5, 3)
y = (x[:, :, 0].sum(1) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=12, shuffle=True)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    model.state = None
    for rows, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(rows), labels)  # <- finding
        loss.backward()
        optimizer.step()
print(loss.item())
