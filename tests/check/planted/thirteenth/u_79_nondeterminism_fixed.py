import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
torch.use_deterministic_algorithms(True)

GOOD = "great fine lovely superb charming warm bright clever".split()
BAD = "awful dull weak boring clumsy cold dreary silly".split()
NEUTRAL = "the film plot actor scene music with and a very script ending story of in".split()


def sentence():
    label = random.randint(0, 1)
    words = random.choices(NEUTRAL, k=8)
    for _ in range(2):
        words.insert(random.randrange(len(words)), random.choice(GOOD if label else BAD))
    if random.random() < 0.3:
        words.append(random.choice(BAD if label else GOOD))
    return words, label


def build_vocab(sentences):
    words = {w for tokens, _ in sentences for w in tokens}
    return {w: i for i, w in enumerate(sorted(words))}


class BagOfWords(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, 8)
        self.fc = nn.Linear(8, 2)

    def forward(self, ids):
        return self.fc(self.embed(ids).mean(0))


corpus = [sentence() for _ in range(250)]
train, test = corpus[:200], corpus[200:]
vocab = build_vocab(corpus)
model = BagOfWords(len(vocab))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def encode(tokens):
    return torch.tensor([vocab[w] for w in tokens])


for epoch in range(4):
    model.train()
    random.shuffle(train)
    total = 0.0
    for tokens, label in train:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(encode(tokens)).unsqueeze(0), torch.tensor([label]))
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        right = sum(int(model(encode(t)).argmax()) == y for t, y in test)
    print(f"epoch {epoch} loss {total / len(train):.6f} test {right / len(test):.3f}")
