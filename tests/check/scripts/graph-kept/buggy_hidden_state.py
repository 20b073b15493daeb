"""A language model whose hidden state is carried from chunk to chunk of the text and never cut."""

import torch
from torch import nn


class CharModel(nn.Module):
    def __init__(self, vocabulary, size):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, size)
        self.rnn = nn.GRU(size, size, batch_first=True)
        self.head = nn.Linear(size, vocabulary)

    def forward(self, tokens, hidden):
        out, hidden = self.rnn(self.embed(tokens), hidden)
        return self.head(out), hidden


torch.manual_seed(0)
text = torch.randint(0, 10, (4, 61))
model = CharModel(10, 8)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
hidden = torch.zeros(1, 4, 8)
for start in range(0, 60, 10):
    chunk, following = text[:, start : start + 10], text[:, start + 1 : start + 11]
    logits, hidden = model(chunk, hidden)  # <- finding
    loss = nn.functional.cross_entropy(logits.reshape(-1, 10), following.reshape(-1))
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    print(loss.item())
