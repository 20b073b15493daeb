# Gradients of four micro-batches are summed and divided by the number of tokens in all of them
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
model = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 20))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
start = torch.randint(1, 20, (320, 1))
ids = (start + torch.arange(7)) % 20
lengths = torch.randint(3, 8, (320,))
ids[torch.arange(7) >= lengths[:, None]] = -100
for big in ids.split(80):
    tokens = (big[:, 1:] != -100).sum()
    for small in big.split(20):
        logits = model(small[:, :-1].clamp_min(0))
        loss = F.cross_entropy(logits.transpose(1, 2), small[:, 1:], ignore_index=-100, reduction="sum") / tokens
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item() * 4)
