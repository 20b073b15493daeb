import torch
from torch import nn

# stateful training over a long signal; the state is detached between windows on purpose
torch.manual_seed(13)
signal = torch.sin(torch.arange(1201) * 0.1).view(1, -1, 1)
rnn, out = nn.GRU(1, 16, batch_first=True), nn.Linear(16, 1)
opt = torch.optim.Adam([*rnn.parameters(), *out.parameters()], lr=0.01)
W = 50
for epoch in range(4):
    h = None
    total = 0.0
    for s in range(0, 1200, W):
        if h is not None:
            h = h.detach()
        z, h = rnn(signal[:, s:s + W], h)
        loss = nn.functional.mse_loss(out(z), signal[:, s + 1:s + W + 1])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(rnn.parameters(), 1.0)
        opt.step()
        total += loss.item()
    mse = total / (1200 // W)
    print("epoch", epoch, "mse", mse)

print("done")
