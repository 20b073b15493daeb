"""Part-of-speech tags with an LSTM."""

import torch
import torch.nn as nn

torch.manual_seed(6)
VOCAB, TAGS, HIDDEN = 40, 5, 24


class LSTMTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings = nn.Embedding(VOCAB, 16)
        self.lstm = nn.LSTM(16, HIDDEN, batch_first=True)
        self.hidden2tag = nn.Linear(HIDDEN, TAGS)

    def forward(self, sentence):
        embeds = self.word_embeddings(sentence)
        lstm_out, _ = self.lstm(embeds)
        return self.hidden2tag(lstm_out)


sentences = torch.randint(0, VOCAB, (96, 9))
tags = (sentences + sentences.roll(1, 1)) % TAGS
model = LSTMTagger()
loss_function = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(25):
    model.zero_grad()
    scores = model(sentences)
    scores = scores.transpose(1, 2)
    loss = loss_function(scores, tags)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 4:
        print(epoch, loss.item())
