# The hidden state goes from window to window, cut between them
import torch
from torch import nn

torch.manual_seed(12)
signal = torch.cumsum(torch.randn(8, 400), 1) * 0.05
rnn, out = nn.GRU(1, 16, batch_first=True), nn.Linear(16, 1)
opt = torch.optim.Adam([*rnn.parameters(), *out.parameters()], lr=5e-3)
for epoch in range(3):
    state = None
    for t in range(0, 380, 20):
        x, y = signal[:, t:t + 20, None], signal[:, t + 1:t + 21, None]
        h, state = rnn(x, state)
        loss = nn.functional.mse_loss(out(h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        state = state.detach()
    print(epoch, loss.item())
