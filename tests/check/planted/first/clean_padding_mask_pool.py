"""Variable-length sequences with padding masks and masked mean loss."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence


class MaskedAttention(nn.Module):
    def __init__(self, v=20, d=16):
        super().__init__()
        self.emb = nn.Embedding(v, d, padding_idx=0)
        self.score = nn.Linear(d, 1)
        self.out = nn.Linear(d, 1)

    def forward(self, ids):
        h = self.emb(ids)
        s = self.score(h).squeeze(-1).masked_fill(ids == 0, float("-inf"))
        w = torch.softmax(s, dim=1)
        return self.out((w.unsqueeze(-1) * h).sum(1)).squeeze(1)


def batch(n):
    seqs = [torch.randint(1, 20, (int(torch.randint(3, 12, (1,))),)) for _ in range(n)]
    return pad_sequence(seqs, batch_first=True), torch.stack([(s % 2 == 0).float().mean() for s in seqs])


torch.manual_seed(0)
net = MaskedAttention()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(250):
    ids, y = batch(32)
    loss = nn.functional.mse_loss(net(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("mse", loss.item(), "variance", y.var().item())
