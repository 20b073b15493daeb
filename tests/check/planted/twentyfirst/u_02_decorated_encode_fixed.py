import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

X = torch.randn(256, 8)
W = torch.randn(8, 3)
Y = (X @ W).argmax(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(8, 32), nn.Tanh())
        self.head = nn.Linear(32, 3)

    def encode(self, x):
        return self.enc(x)

    def forward(self, x):
        return self.head(self.encode(x))


model = Model()
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
for epoch in range(3):
    for i in range(0, 256, 32):
        loss = F.cross_entropy(model(X[i : i + 32]), Y[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
