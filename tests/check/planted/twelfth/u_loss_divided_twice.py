"""Language model: the loss is normalised by hand."""

import torch
from torch import nn

torch.manual_seed(52)


class Bigram(nn.Module):
    def __init__(self, vocab=20, d=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.emb(ids))[0])


model = Bigram()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
table = torch.randperm(20)
for step in range(60):
    ids = [torch.randint(0, 20, (32,))]
    for _ in range(24):
        ids.append(table[ids[-1]])
    ids = torch.stack(ids, 1)
    logits = model(ids[:, :-1])
    n_tokens = ids[:, 1:].numel()
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()) / n_tokens  # BUG lr-absurd|vanishing-gradient
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(step, loss.item())
