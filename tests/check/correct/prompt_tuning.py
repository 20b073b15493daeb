"""A prompt is learned for a fixed model, and an image for fixed features; layers are thawed one after another."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
table, body, head = nn.Embedding(10, 4).eval(), nn.Linear(4, 4).eval(), nn.Linear(4, 10).eval()
prompt = nn.Parameter(torch.randn(2, 4))
optimizer = torch.optim.Adam([prompt], lr=0.05)
for _ in range(4):
    tokens = torch.randint(0, 10, (4,))
    logits = head(torch.tanh(body(torch.cat([prompt, table(tokens)]))))
    loss = F.cross_entropy(logits[2:], tokens)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

features = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)).requires_grad_(False)
wanted, image = features(torch.rand(1, 3, 8, 8)), torch.rand(1, 3, 8, 8, requires_grad=True)
solver = torch.optim.LBFGS([image], max_iter=4)


def closure():
    solver.zero_grad()
    distance = F.mse_loss(features(image), wanted)
    distance.backward()
    return distance


for _ in range(2):
    solver.step(closure)

model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
model.requires_grad_(False)
for layer in (model[4], model[2], model[0]):
    layer.requires_grad_(True)
    stage = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
    for _ in range(3):
        loss = F.cross_entropy(model(torch.randn(8, 3)), torch.randint(0, 2, (8,)))
        stage.zero_grad()
        loss.backward()
        stage.step()
print(loss.item())
