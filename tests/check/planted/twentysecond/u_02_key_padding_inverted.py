import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16)
        self.att = nn.MultiheadAttention(16, 2, batch_first=True)
        self.out = nn.Linear(16, 2)

    def forward(self, ids):
        x = self.emb(ids)
        pad = ids != 0  # BUG mask-inverted
        h, _ = self.att(x, x, x, key_padding_mask=pad)
        return self.out(h[:, 0])


g = torch.Generator().manual_seed(0)
ids = torch.randint(1, 30, (192, 10), generator=g)
ids[torch.arange(10)[None] >= torch.randint(4, 9, (192, 1), generator=g)] = 0
lab = (ids[:, 1] > 15).long()
net = Enc()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(2):
    for i in range(0, 192, 32):
        loss = F.cross_entropy(net(ids[i : i + 32]), lab[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
