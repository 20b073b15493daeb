import torch
import torch.nn as nn
from collections import deque

torch.manual_seed(2)
net = nn.Sequential(nn.Linear(4, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
truth = torch.tensor([1.0, -1.0, 2.0, 0.0])
buffer = deque(maxlen=64)
errors = deque(maxlen=50)
for t in range(400):
    x = torch.randn(4)
    y = (x @ truth).unsqueeze(0)
    net.eval()
    with torch.no_grad():
        guess = net(x.unsqueeze(0)).squeeze(0)  # one sample, running statistics
    errors.append((guess - y).abs().item())
    buffer.append((x, y))
    if len(buffer) >= 16 and t % 2 == 0:
        net.train()
        pick = torch.randperm(len(buffer))[:16].tolist()
        xb = torch.stack([buffer[i][0] for i in pick])
        yb = torch.stack([buffer[i][1] for i in pick])
        loss = nn.functional.mse_loss(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if t % 100 == 99:
        print(t + 1, "mean abs error of the last 50:", round(sum(errors) / len(errors), 3))
