"""A function cuts inputs and targets out of the text at the same places."""

import torch
from torch import nn

torch.manual_seed(0)
text = torch.randint(0, 12, (400,))


def windows(starts, length=10):
    inputs = torch.cat([text[s : s + length].unsqueeze(0) for s in starts])
    wanted = torch.cat([text[s : s + length].unsqueeze(0) for s in starts])  # <- finding
    return inputs, wanted


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(12, 16)
        self.gru = nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, 12)

    def forward(self, tokens):
        return self.head(self.gru(self.table(tokens))[0])


model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(8):
    inputs, wanted = windows(torch.randint(0, 380, (8,)).tolist())
    loss = nn.functional.cross_entropy(model(inputs).transpose(1, 2), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
