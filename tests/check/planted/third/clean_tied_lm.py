"""Character model whose output matrix is the embedding (tied weights)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
text = "how much wood would a woodchuck chuck if a woodchuck could chuck wood " * 12
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])


class TiedLM(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.Linear(dim, vocab)
        self.decoder.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=0.1)

    def forward(self, ids, state=None):
        h, state = self.gru(self.embedding(ids), state)
        return self.decoder(h), state


model = TiedLM(len(chars))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)

# ten parallel streams, hidden state carried from chunk to chunk
streams = data[: len(data) // 10 * 10].view(10, -1)
for epoch in range(12):
    state = None
    for start in range(0, streams.shape[1] - 21, 20):
        chunk = streams[:, start:start + 21]
        logits, state = model(chunk[:, :-1], state)
        state = state.detach()
        loss = F.cross_entropy(logits.flatten(0, 1), chunk[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} loss {loss.item():.3f}")
