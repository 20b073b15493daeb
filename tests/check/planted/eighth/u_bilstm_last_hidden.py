# Sentiment with a bidirectional LSTM, both last hidden states
import torch
from torch import nn


class Sentiment(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 12)
        self.lstm = nn.LSTM(12, 10, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(20, 2)

    def forward(self, words):
        _, (hidden, _) = self.lstm(self.embed(words))
        last = hidden.view(len(words), -1)  # BUG reshape-not-transpose
        return self.fc(last)


torch.manual_seed(23)
words = torch.randint(0, 40, (320, 8))
mood = ((words < 10).sum(1) > (words >= 30).sum(1)).long()
model = Sentiment()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(5):
    for rows in torch.randperm(320).split(32):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(words[rows]), mood[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
