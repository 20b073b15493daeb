"""Sequence tagging with variable lengths."""
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD = 0
N_TAGS = 4


def make_sentences(n, g):
    data = []
    for _ in range(n):
        length = int(torch.randint(4, 20, (1,), generator=g))
        tokens = torch.randint(1, 40, (length,), generator=g)
        data.append((tokens, tokens % N_TAGS))
    return data


def collate(batch):
    tokens, tags = zip(*batch)
    x = pad_sequence(tokens, batch_first=True, padding_value=PAD)
    y = pad_sequence(tags, batch_first=True, padding_value=-100)
    return x, y


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 16, padding_idx=PAD)
        self.rnn = nn.LSTM(16, 16, batch_first=True, bidirectional=True)
        self.out = nn.Linear(32, N_TAGS)

    def forward(self, x):
        h, _ = self.rnn(self.embed(x))
        return self.out(h)


torch.manual_seed(0)
loader = DataLoader(make_sentences(320, torch.Generator().manual_seed(0)), batch_size=32, shuffle=True,
                    collate_fn=collate)
model = Tagger()
criterion = nn.CrossEntropyLoss()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    total = 0.0
    for x, y in loader:
        logits = model(x)
        loss = criterion(logits.view(-1, N_TAGS), y.view(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(epoch, total / len(loader))
