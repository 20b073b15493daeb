"""A leaky reservoir unrolled into a preallocated tensor of states."""
import torch
from torch import nn


class LeakyRNN(nn.Module):
    def __init__(self, n_in, hidden, leak=0.3):
        super().__init__()
        self.inp = nn.Linear(n_in, hidden)
        self.rec = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, 1)
        self.leak = leak

    def forward(self, x):
        state = torch.zeros(x.size(0), self.rec.in_features)
        outputs = []
        for t in range(x.size(1)):
            candidate = torch.tanh(self.inp(x[:, t]) + self.rec(state))  # BUG inplace-breaks-backward
            state *= 1 - self.leak  # BUG inplace-breaks-backward
            state += self.leak * candidate  # BUG inplace-breaks-backward
            outputs.append(self.out(state))
        return torch.cat(outputs, dim=1)


def narma(n, length=12):
    u = torch.rand(n, length) * 0.5
    y = torch.zeros(n, length)
    for t in range(1, length):
        y[:, t] = 0.3 * y[:, t - 1] + 0.5 * u[:, t - 1] * u[:, t] + 0.1
    return u.unsqueeze(2), y


def main():
    torch.manual_seed(0)
    net = LeakyRNN(1, 20)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(20):
        x, y = narma(32)
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()  # BUG inplace-breaks-backward
        optimizer.step()
        if step % 5 == 0:
            print(step, loss.item())


main()
