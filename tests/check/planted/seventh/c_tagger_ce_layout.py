# Part-of-speech tagging, sentences of 8 words, 8 tags
import torch
import torch.nn as nn

torch.manual_seed(10)
n_tags, seq_len, vocab = 8, 8, 60
word_tag = torch.randint(0, n_tags, (vocab,))
sentences = torch.randint(0, vocab, (500, seq_len))
tags = word_tag[sentences]


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(vocab, 16)
        self.lstm = nn.LSTM(16, 24, batch_first=True)
        self.proj = nn.Linear(24, n_tags)

    def forward(self, words):
        h, _ = self.lstm(self.embed(words))
        return self.proj(h)


model = Tagger()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(6):
    for idx in torch.randperm(500).split(25):
        scores = model(sentences[idx])
        loss = criterion(scores, tags[idx])  # BUG class-dim-misplaced
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        hit = (model(sentences).argmax(-1) == tags).float().mean()
    print(f"epoch {epoch} loss {loss.item():.3f} tag accuracy {hit:.3f}")
