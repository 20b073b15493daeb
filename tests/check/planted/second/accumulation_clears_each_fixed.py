"""Language model with gradient accumulation in a Trainer class."""
import torch
from torch import nn


class LM(nn.Module):
    def __init__(self, v=14, d=24):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, v)

    def forward(self, ids):
        return self.out(self.gru(self.emb(ids))[0])


class Trainer:
    def __init__(self, model, accum=2):
        self.model, self.accum = model, accum
        self.opt = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.opt.zero_grad()
        self.micro = 0

    def feed(self, seq):
        logits = self.model(seq[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), seq[:, 1:].flatten())
        (loss / self.accum).backward()
        self.micro += 1
        if self.micro % self.accum == 0:
            self.opt.step()
            self.opt.zero_grad()
        return loss.item()


torch.manual_seed(0)
tr = Trainer(LM())
for i in range(200):
    seq = (torch.randint(0, 14, (16, 1)) + torch.randint(1, 3, (16, 1)) * torch.arange(11)) % 14
    loss = tr.feed(seq)
print("loss", loss)
