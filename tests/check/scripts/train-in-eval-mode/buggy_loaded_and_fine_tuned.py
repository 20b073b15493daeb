"""A model comes out of a loading function in eval mode, as for inference, and is then fine-tuned."""

import torch
import torch.nn.functional as F
from torch import nn


class Classifier(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(features, 24), nn.GELU())
        self.classifier = nn.Linear(24, classes)

    def forward(self, x):
        hidden = F.dropout(self.encoder(x), p=0.2, training=self.training)
        return self.classifier(hidden)


def load(state):
    model = Classifier(5, 3)
    model.load_state_dict(state)
    return model.eval()  # <- finding


torch.manual_seed(1)
model = load(Classifier(5, 3).state_dict())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
x, y = torch.randn(24, 5), torch.randint(0, 3, (24,))
for step in range(4):
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
