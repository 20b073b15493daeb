"""A causal mask hides the diagonal, too, and so all of the first row."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 16)
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.out = nn.Linear(16, 20)

    def forward(self, ids):
        x = self.emb(ids)
        s = self.q(x) @ self.k(x).transpose(1, 2) / 4
        n = ids.shape[1]
        block = torch.triu(torch.ones(n, n, dtype=torch.bool))  # <- finding
        s = s.masked_fill(block, float("-inf"))
        return self.out(s.softmax(-1) @ self.v(x))


ids = torch.randint(0, 20, (128, 9))
net = LM()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(2):
    for i in range(0, 128, 32):
        b = ids[i : i + 32]
        logits = net(b[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, 20), b[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
