import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 16, padding_idx=0)
        self.rnn = nn.LSTM(16, 24, batch_first=True)
        self.out = nn.Linear(24, 2)
    def forward(self, t, n):
        h, _ = self.rnn(self.emb(t))
        return self.out(h[:, -1])  # <- finding

def make(n):
    lens = torch.randint(3, 15, (n,))
    toks = torch.zeros(n, 15, dtype=torch.long)
    for i, k in enumerate(lens.tolist()):
        toks[i, :k] = torch.randint(1, 20, (k,))
    return toks, lens, (toks[:, 0] > 10).long()
T, L, Y = make(240)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    for i in torch.randperm(240).split(24):
        loss = F.cross_entropy(net(T[i], L[i]), Y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
