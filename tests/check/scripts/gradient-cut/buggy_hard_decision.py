"""The first stage decides by argmax, the second embeds the decision: nothing reaches the first stage."""

import torch
from torch import nn


class TwoStages(nn.Module):
    def __init__(self):
        super().__init__()
        self.chooser = nn.Linear(5, 4)
        self.meanings = nn.Embedding(4, 6)
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        choice = self.chooser(x).argmax(dim=1)  # <- finding
        return self.out(self.meanings(choice)).squeeze(1)


torch.manual_seed(0)
model = TwoStages()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
for step in range(6):
    x = torch.randn(16, 5)
    loss = nn.functional.mse_loss(model(x), x.sum(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
