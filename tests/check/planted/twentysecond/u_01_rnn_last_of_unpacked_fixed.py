import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16, padding_idx=0)
        self.rnn = nn.GRU(16, 24, batch_first=True)
        self.out = nn.Linear(24, 2)

    def forward(self, ids, lengths):
        h, _ = self.rnn(self.emb(ids))
        last = h[torch.arange(len(ids)), lengths - 1]
        return self.out(last)


g = torch.Generator().manual_seed(0)
lengths = torch.randint(3, 12, (192,), generator=g)
ids = torch.randint(1, 30, (192, 12), generator=g)
ids[torch.arange(12)[None] >= lengths[:, None]] = 0
lab = (ids[:, 0] > 15).long()
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(2):
    for i in range(0, 192, 32):
        loss = F.cross_entropy(net(ids[i : i + 32], lengths[i : i + 32]), lab[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
