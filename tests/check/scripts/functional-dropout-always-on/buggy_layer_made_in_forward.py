"""A new nn.Dropout in every forward: it is no layer of the model, and always in train mode."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, rate=0.4):
        super().__init__()
        self.rate = rate
        self.encoder = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
        self.decoder = nn.Linear(16, 3)

    def forward(self, x):
        hidden = self.encoder(x)
        return self.decoder(nn.Dropout(self.rate)(hidden))  # <- finding


torch.manual_seed(0)
tagger = Tagger()
optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1)
x, y = torch.randn(20, 4), torch.randint(0, 3, (20,))
for _ in range(5):
    optimizer.zero_grad()
    nn.functional.cross_entropy(tagger(x), y).backward()
    optimizer.step()
tagger.eval()
with torch.inference_mode():
    print(tagger(x).argmax(dim=-1).tolist())
