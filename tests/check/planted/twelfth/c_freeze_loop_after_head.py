"""Only the last layer of a pretrained encoder is to be trained, with the new head."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return x


class Classifier(nn.Module):
    def __init__(self, encoder, n):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(16, n)

    def forward(self, x):
        return self.head(self.encoder(x))


torch.manual_seed(13)
model = Classifier(Encoder(), 3)
for param in model.parameters():  # BUG param-frozen
    param.requires_grad = False  # BUG param-frozen
for param in model.encoder.layers[-1].parameters():
    param.requires_grad = True
trainable = [p for p in model.parameters() if p.requires_grad]
opt = torch.optim.AdamW(trainable, lr=1e-2)

w = torch.randn(16, 3)
for step in range(30):
    x = torch.randn(32, 16)
    y = (x @ w).argmax(1)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
