import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

series = torch.sin(torch.arange(0, 400) * 0.1)
lstm, head = nn.LSTM(1, 16, batch_first=True), nn.Linear(16, 1)
opt = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=1e-2)
state = None
for i in range(0, 380, 10):
    x, y = series[i : i + 10].reshape(1, 10, 1), series[i + 1 : i + 11].reshape(1, 10, 1)
    out, state = lstm(x, state)
    loss = F.mse_loss(head(out), y)
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    state = (state[0].detach(), state[1])  # BUG graph-kept|memory-growth|inplace-breaks-backward
