import torch
import torch.nn as nn

torch.manual_seed(15)
PAD, VOCAB, TAGS = 0, 40, 4


def collate(sents):
    m = max(len(s) for s, _ in sents)
    tok = torch.full((len(sents), m), PAD)
    tag = torch.full((len(sents), m), PAD)
    for i, (s, t) in enumerate(sents):
        tok[i, :len(s)] = s
        tag[i, :len(t)] = t
    return tok, tag


def sentence():
    n = int(torch.randint(3, 30, (1,)) if torch.rand(1) < 0.15 else torch.randint(3, 6, (1,)))
    s = torch.randint(1, VOCAB, (n,))
    t = 1 + s % (TAGS - 1)
    flip = torch.rand(n) < 0.5
    t[flip] = torch.randint(1, TAGS, (int(flip.sum()),))
    return s, t


data = [sentence() for _ in range(400)]
tagger = nn.Sequential(nn.Embedding(VOCAB, 16), nn.Linear(16, TAGS))
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
opt = torch.optim.Adam(tagger.parameters(), lr=0.01)
for epoch in range(8):
    for i in range(0, 320, 32):
        tok, tag = collate(data[i:i + 32])
        logits = tagger(tok)
        loss = criterion(logits.flatten(0, 1), tag.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
tok, tag = collate(data[320:])
with torch.no_grad():
    logits = tagger(tok)
real = tag != PAD
print(f"reported loss {criterion(logits.flatten(0, 1), tag.flatten()).item():.3f}")
print(f"loss on real tokens {nn.functional.cross_entropy(logits[real], tag[real]).item():.3f}")
