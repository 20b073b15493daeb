"""Topic classification from bags of words (EmbeddingBag)."""
import torch
from torch import nn

WORDS, TOPICS, LENGTH = 60, 4, 12


def documents(n):
    topic = torch.randint(0, TOPICS, (n,))
    own = torch.randint(0, WORDS // TOPICS, (n, LENGTH)) + topic[:, None] * (WORDS // TOPICS)
    anything = torch.randint(0, WORDS, (n, LENGTH))
    use = torch.rand(n, LENGTH) < 0.6
    return torch.where(use, own, anything), topic


class Topics(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.bag = nn.EmbeddingBag(WORDS, dim, mode="mean")
        self.fc = nn.Linear(dim, TOPICS)

    def forward(self, words):
        return self.fc(self.bag(words))


def shuffled(tensor):
    return tensor[torch.randperm(len(tensor))]


def epoch_batches(words, topics, size):
    order = torch.randperm(len(words))
    words, topics = words[order], topics[order]
    for i in range(0, len(words), size):
        yield words[i:i + size], topics[i:i + size]


def main():
    torch.manual_seed(10)
    words, topics = documents(600)
    model = Topics()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(6):
        total, count = 0.0, 0
        for x, y in epoch_batches(words, topics, 50):
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            count += 1
        print(epoch, total / count)


main()
