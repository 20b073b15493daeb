"""A language model whose loss leaves the padding out."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(0)
PAD = 0


def sequences(n):
    return [torch.randint(1, 12, (k,)) for k in torch.randint(3, 12, (n,)).tolist()]


def together(rows):
    return pad_sequence(rows, batch_first=True, padding_value=PAD)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 16, padding_idx=PAD)
        self.rnn = nn.GRU(16, 16, batch_first=True)
        self.out = nn.Linear(16, 12)

    def forward(self, tokens):
        return self.out(self.rnn(self.embed(tokens))[0])


model = Model()
loader = DataLoader(sequences(120), batch_size=20, shuffle=True, collate_fn=together)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    for tokens in loader:
        logits = model(tokens[:, :-1])
        optimizer.zero_grad()
        criterion(logits.transpose(1, 2), tokens[:, 1:]).backward()
        optimizer.step()
