"""A character model of eight letters in pieces of eight."""

import torch
from torch import nn


class CharModel(nn.Module):
    def __init__(self, vocab, dim=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, x, state=None):
        h, state = self.rnn(self.emb(x), state)
        return self.out(h), state


torch.manual_seed(0)
text = torch.tensor([0, 1, 2, 3, 4, 5, 6, 7, 2, 5] * 60)
model = CharModel(8)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for step in range(30):
    start = torch.randint(0, len(text) - 9, (16,))
    x = torch.stack([text[s : s + 8] for s in start])
    y = torch.stack([text[s + 1 : s + 9] for s in start])
    logits, _ = model(x)
    loss = criterion(logits, y)  # BUG class-dim-misplaced
    opt.zero_grad()
    loss.backward()
    opt.step()
accuracy = (model(x)[0].argmax(-1) == y).float().mean()
print("accuracy", round(accuracy.item(), 3))
