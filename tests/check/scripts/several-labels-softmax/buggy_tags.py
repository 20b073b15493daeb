"""Tags of a text: several may hold at once."""
import torch
from torch import nn

WORDS, TAGS = 40, 6


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(WORDS, 24, mode="mean")
        self.out = nn.Linear(24, TAGS)

    def forward(self, ids):
        return self.out(self.bag(ids))


def make(n):
    ids = torch.randint(0, WORDS, (n, 8))
    tags = torch.stack([(ids % TAGS == k).sum(1) >= 2 for k in range(TAGS)], 1).float()
    return ids, tags


def f1(logits, tags):
    predicted = logits.softmax(1) > 0.5
    hits = (predicted & tags.bool()).sum()
    return (2 * hits / (predicted.sum() + tags.sum()).clamp(min=1)).item()


def main():
    torch.manual_seed(91)
    model = Tagger()
    criterion = nn.CrossEntropyLoss()  # <- finding
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    ids, tags = make(600)
    test_ids, test_tags = make(200)
    for epoch in range(2):
        for rows in torch.randperm(600).split(60):
            loss = criterion(model(ids[rows]), tags[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            print(epoch, loss.item(), f1(model(test_ids), test_tags))


main()
