"""Segmentation of a time series into as many states as there are time steps."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(64)
STEPS = STATES = 6


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 20, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(40, STATES)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.fc(h)


net = Segmenter()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(40):
    states = torch.randint(0, STATES, (32, STEPS))
    x = torch.stack([(states * 0.9).sin(), (states * 1.7).cos(), states / STATES], -1)
    logits = net(x)
    loss = F.cross_entropy(logits, states)  # BUG class-dim-misplaced
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
