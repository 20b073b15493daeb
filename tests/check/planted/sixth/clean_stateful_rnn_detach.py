import torch
import torch.nn as nn

torch.manual_seed(0)
series = torch.sin(torch.arange(0, 2000) * 0.1) + 0.05 * torch.randn(2000)
rnn = nn.LSTM(1, 16, batch_first=True)
head = nn.Linear(16, 1)
params = list(rnn.parameters()) + list(head.parameters())
opt = torch.optim.Adam(params, lr=1e-2)
CHUNK = 40
for epoch in range(3):
    state = None
    total = 0.0
    n = 0
    for s in range(0, 1960, CHUNK):
        x = series[s:s + CHUNK].view(1, CHUNK, 1)
        y = series[s + 1:s + CHUNK + 1].view(1, CHUNK, 1)
        out, state = rnn(x, state)
        state = tuple(t.detach() for t in state)  # truncated BPTT
        loss = nn.functional.mse_loss(head(out), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        n += 1
    print("epoch", epoch, "mse", round(total / n, 4))
