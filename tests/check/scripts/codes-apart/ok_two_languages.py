"""Two languages have a vocabulary each; parts of a split share theirs."""

import torch
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, pairs, source=None, target=None):
        self.pairs = pairs
        self.source = source or self.number([s for s, _ in pairs])
        self.target = target or self.number([t for _, t in pairs])

    @staticmethod
    def number(words):
        return {w: k for k, w in enumerate(dict.fromkeys(words))}

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        s, t = self.pairs[i]
        return torch.tensor(self.source[s]), torch.tensor(self.target[t])


train = Pairs([("hand", "hand"), ("arm", "arm"), ("bad", "bath"), ("bald", "soon")])
test = Pairs([("bald", "soon"), ("arm", "arm")], train.source, train.target)
for data in (train, test):
    for s, t in DataLoader(data, batch_size=2):
        print(s.tolist(), t.tolist())
