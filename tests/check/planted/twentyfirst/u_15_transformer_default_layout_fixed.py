import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Clf(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.emb = nn.Embedding(20, 16)
        self.enc = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(16, 2)

    def forward(self, ids):
        return self.head(self.enc(self.emb(ids)).mean(1))


ids = torch.randint(0, 20, (192, 9))
lab = (ids[:, 0] > ids[:, 1]).long()
net = Clf()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(2):
    for i in range(0, 192, 32):
        loss = F.cross_entropy(net(ids[i : i + 32]), lab[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
