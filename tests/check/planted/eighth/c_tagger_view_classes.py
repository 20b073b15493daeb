# Named entities, a bidirectional LSTM and cross entropy over time
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, vocab=50, tags=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, 16)
        self.lstm = nn.LSTM(16, 16, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(32, tags)

    def forward(self, words):
        out, _ = self.lstm(self.embed(words))
        return self.fc(out)


torch.manual_seed(10)
words = torch.randint(0, 50, (240, 9))
tags = words % 4
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(4):
    for rows in torch.arange(240).split(24):
        optimizer.zero_grad()
        scores = model(words[rows])
        batch, length, n_tags = scores.shape
        loss = nn.functional.cross_entropy(scores.view(batch, n_tags, length), tags[rows])  # BUG class-dim-misplaced|reshape-not-transpose
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
