# Part-of-speech tagger.
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(29)
VOCAB, TAGS, T = 40, 5, 12
tag_of_word = torch.randint(0, TAGS, (VOCAB,))


def sentences(n):
    words = torch.randint(0, VOCAB, (n, T))
    tags = tag_of_word[words]
    after_zero = torch.cat([torch.zeros(n, 1, dtype=torch.bool), tags[:, :-1] == 0], 1)
    return words, torch.where(after_zero, (tags + 1) % TAGS, tags)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 16)
        self.rnn = nn.GRU(16, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, TAGS)

    def forward(self, w):
        return self.out(self.rnn(self.emb(w))[0])


model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(150):
    words, tags = sentences(32)
    logits = model(words)                               # (B, T, C)
    loss = F.cross_entropy(logits.transpose(1, 2), tags)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(f"step {step + 1} loss {loss.item():.4f}")

with torch.no_grad():
    words, tags = sentences(300)
    print("tag accuracy", (model(words).argmax(-1) == tags).float().mean().item())
