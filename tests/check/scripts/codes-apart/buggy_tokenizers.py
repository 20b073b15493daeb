"""A tokenizer of the test texts."""

import random

import torch
import torch.nn as nn

GOOD = "great fine lovely superb nice warm bright clever".split()
BAD = "awful dull poor cold bland weak rude slow".split()
FILL = "the film plot cast was a very and room food hotel it with this of staff".split()


def reviews(n, rng):
    texts, labels = [], []
    for _ in range(n):
        label = rng.randrange(2)
        words = [rng.choice(FILL) for _ in range(9)]
        words += [rng.choice(GOOD if label else BAD) for _ in range(3)]
        words += [rng.choice(GOOD + BAD)]
        rng.shuffle(words)
        texts.append(" ".join(words))
        labels.append(label)
    return texts, torch.tensor(labels)


class Tokenizer:
    def __init__(self, texts):
        self.index = {"<unk>": 0}
        for text in texts:
            for word in text.split():
                self.index.setdefault(word, len(self.index))

    def __len__(self):
        return len(self.index)

    def encode(self, texts):
        return torch.tensor([[self.index.get(w, 0) for w in t.split()] for t in texts])


class Sentiment(nn.Module):
    def __init__(self, n_words, dim=16):
        super().__init__()
        self.emb = nn.EmbeddingBag(n_words, dim, mode="mean")
        self.fc = nn.Linear(dim, 2)

    def forward(self, tokens):
        return self.fc(self.emb(tokens))


def main():
    rng = random.Random(119)
    torch.manual_seed(119)
    train_texts, train_y = reviews(200, rng)
    test_texts, test_y = reviews(100, rng)
    tok = Tokenizer(train_texts)
    train_x = tok.encode(train_texts)
    test_x = Tokenizer(test_texts).encode(test_texts)  # <- finding
    model = Sentiment(len(tok))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        model.train()
        for idx in torch.randperm(len(train_x)).split(40):
            opt.zero_grad()
            nn.functional.cross_entropy(model(train_x[idx]), train_y[idx]).backward()
            opt.step()
    model.eval()
    with torch.no_grad():
        print("vocabulary", len(tok))
        print("train accuracy %.4f" % (model(train_x).argmax(1) == train_y).float().mean().item())
        print("test accuracy %.4f" % (model(test_x).argmax(1) == test_y).float().mean().item())


main()
