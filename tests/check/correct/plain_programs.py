"""Plain programs: a deep ReLU net of 8 layers on defaults, a char RNN of 40 steps, an autoencoder with tied weights, test-time style optimisation."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
mlp = nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(32, 32), nn.ReLU())], nn.Linear(32, 4))
optimizer = torch.optim.Adam(mlp.parameters(), lr=1e-3)
x, y = torch.randn(64, 32), torch.randint(0, 4, (64,))
for _ in range(8):
    loss = F.cross_entropy(mlp(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
rnn, emb, head = nn.RNN(8, 24, batch_first=True), nn.Embedding(10, 8), nn.Linear(24, 10)
optimizer = torch.optim.RMSprop([*rnn.parameters(), *emb.parameters(), *head.parameters()], lr=1e-3)
text = torch.randint(0, 10, (4, 41))
for _ in range(5):
    out, _ = rnn(emb(text[:, :-1]))
    loss = F.cross_entropy(head(out).transpose(1, 2), text[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
w, b1, b2 = nn.Parameter(torch.randn(16, 6) * 0.2), nn.Parameter(torch.zeros(6)), nn.Parameter(torch.zeros(16))
optimizer = torch.optim.SGD([w, b1, b2], lr=0.1)
data = torch.rand(40, 16)
for _ in range(6):
    noisy = F.dropout(data, 0.2)
    rec = torch.sigmoid(torch.sigmoid(noisy @ w + b1) @ w.t() + b2)
    loss = F.binary_cross_entropy(rec, data)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
features = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 6, 3)).eval()
for p in features.parameters():
    p.requires_grad_(False)
content = torch.rand(1, 3, 10, 10)
image = content.clone().requires_grad_(True)
style = features(torch.rand(1, 3, 10, 10)).mean((2, 3))
optimizer = torch.optim.Adam([image], lr=0.02)
for _ in range(4):
    f = features(image)
    loss = F.mse_loss(f.mean((2, 3)), style) + 0.1 * F.mse_loss(image, content)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
