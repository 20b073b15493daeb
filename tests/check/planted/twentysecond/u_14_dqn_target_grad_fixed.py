import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
qt = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
g = torch.Generator().manual_seed(0)
for it in range(60):
    s, s2 = torch.randn(32, 4, generator=g), torch.randn(32, 4, generator=g)
    a = torch.randint(0, 2, (32, 1), generator=g)
    r, done = s[:, 0], (torch.rand(32, generator=g) < 0.1).float()
    best = q(s2).argmax(1, keepdim=True)
    with torch.no_grad():
        nxt = qt(s2).gather(1, best).squeeze(1)
    y = r + 0.95 * nxt * (1 - done)
    loss = F.smooth_l1_loss(q(s).gather(1, a).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 19:
        qt.load_state_dict(q.state_dict())
