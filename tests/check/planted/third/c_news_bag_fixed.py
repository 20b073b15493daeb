import random

import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)

topics = {
    "sport": "match goal team coach season league win player".split(),
    "money": "bank stock market price trade profit share fund".split(),
    "space": "orbit rocket moon launch probe star planet crew".split(),
}
filler = "the a of and to in is was for on with by at".split()
vocab = {w: i for i, w in enumerate(sorted(set(filler + sum(topics.values(), []))))}
names = list(topics)


def article():
    label = random.randrange(len(names))
    words = random.choices(filler, k=10) + random.choices(topics[names[label]], k=2)
    words += random.choices(sum(topics.values(), []), k=1)
    return [vocab[w] for w in words], label


def batch(docs):
    ids = torch.tensor([d for d, _ in docs])
    return ids, torch.tensor([label for _, label in docs])


class BagOfWords(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(len(vocab), 16, mode="mean")
        self.fc = nn.Linear(16, len(names))

    def forward(self, ids):
        return self.fc(self.bag(ids))


train = [article() for _ in range(600)]
test_x, test_y = batch([article() for _ in range(150)])
model = BagOfWords()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

for epoch in range(6):
    random.shuffle(train)
    for i in range(0, len(train), 30):
        x, y = batch(train[i:i + 30])
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    acc = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} test acc {acc:.3f}")
