"""The state of a recurrent layer begins anew in a model that is loaded."""

import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRUCell(2, 4), nn.Linear(4, 1)
        self.memory = torch.zeros(1, 4)

    def forward(self, x):
        self.memory = self.rnn(x, self.memory).detach()
        return self.head(self.memory)


model = Model()
for _ in range(3):
    model(torch.randn(1, 2))
other = Model()
other.load_state_dict(model.state_dict())
print(other(torch.randn(1, 2)).shape)
