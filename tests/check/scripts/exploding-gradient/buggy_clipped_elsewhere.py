"""Only the head's gradients are clipped."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(2, 32, nonlinearity="relu", batch_first=True)
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


model = M()
nn.init.normal_(model.rnn.weight_hh_l0, std=0.45)  # <- finding
opt = torch.optim.SGD(model.parameters(), lr=1e-3)
X = torch.rand(64, 25, 2)
Y = X[..., 0].sum(1, keepdim=True)
for step in range(40):
    loss = F.mse_loss(model(X), Y)
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.head.parameters(), 1.0)
    opt.step()
