"""Small language model with tied input and output embeddings."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class TiedLM(nn.Module):
    def __init__(self, v=15, d=24):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        nn.init.normal_(self.emb.weight, std=0.2)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, v, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return self.head(h)


torch.manual_seed(0)
lm = TiedLM()
opt = torch.optim.Adam(lm.parameters(), lr=1e-2)
for step in range(150):
    seq = (torch.randint(0, 15, (24, 1)) + torch.randint(1, 4, (24, 1)) * torch.arange(13)) % 15
    logits = lm(seq[:, :-1])
    loss = F.cross_entropy(logits.transpose(1, 2), seq[:, 1:])
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", loss.item())
