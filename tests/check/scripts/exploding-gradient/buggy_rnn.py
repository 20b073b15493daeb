"""An nn.RNN with a recurrent matrix twice the identity and ReLU, no clipping."""

import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(2, 8, nonlinearity="relu", batch_first=True)
        self.head = nn.Linear(8, 1)
        with torch.no_grad():
            self.rnn.weight_hh_l0.copy_(2 * torch.eye(8))  # <- finding

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.head(states[:, -1])


torch.manual_seed(0)
model = Counter()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
x = torch.rand(8, 24, 2)
y = x.sum(dim=(1, 2)).unsqueeze(1)
for step in range(4):
    loss = nn.functional.smooth_l1_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
