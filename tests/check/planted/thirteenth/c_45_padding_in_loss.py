import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD_TOKEN = PAD_TAG = 0


class TaggingSet(Dataset):
    """Each token's tag depends on the token and on its left neighbour."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.samples = []
        for k in range(n):
            long = k % 16 == 0
            length = int(torch.randint(40, 50, (1,), generator=g)) if long else int(torch.randint(2, 6, (1,), generator=g))
            tokens = torch.randint(1, 30, (length,), generator=g)
            left = torch.cat([tokens.new_ones(1), tokens[:-1]])
            self.samples.append((tokens, (tokens + left) % 4 + 1))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]


def collate(samples):
    tokens, tags = zip(*samples)
    return (
        pad_sequence(tokens, batch_first=True, padding_value=PAD_TOKEN),
        pad_sequence(tags, batch_first=True, padding_value=PAD_TAG),  # BUG padding-in-loss|label-range
    )


class Tagger(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(30, dim, padding_idx=PAD_TOKEN)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, 5)

    def forward(self, tokens):
        return self.out(self.gru(self.embed(tokens))[0])


def main():
    torch.manual_seed(20)
    train = DataLoader(TaggingSet(640, 1), batch_size=32, shuffle=True, collate_fn=collate)
    val = DataLoader(TaggingSet(160, 2), batch_size=32, collate_fn=collate)
    model = Tagger()
    criterion = nn.CrossEntropyLoss()  # BUG padding-in-loss|label-range
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        model.train()
        for tokens, tags in train:
            optimizer.zero_grad()
            loss = criterion(model(tokens).flatten(0, 1), tags.flatten())  # BUG padding-in-loss|label-range
            loss.backward()
            optimizer.step()
        model.eval()
        right = count = 0
        with torch.no_grad():
            for tokens, tags in val:
                real = tags != PAD_TAG
                right += ((model(tokens).argmax(-1) == tags) & real).sum().item()
                count += real.sum().item()
        print(f"epoch {epoch} loss {loss.item():.4f} accuracy on real tokens {right / count:.3f}")


main()
