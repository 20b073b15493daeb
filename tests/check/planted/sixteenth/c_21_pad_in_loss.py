import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, DataLoader

PAD = 0
N_TAGS = 5


class TagData(Dataset):
    def __init__(self, n=200, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            length = int(torch.randint(3, 25, (1,), generator=g))
            words = torch.randint(1, 30, (length,), generator=g)
            tags = words % (N_TAGS - 1) + 1
            self.items.append((words, tags))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    words, tags = zip(*batch)
    return (pad_sequence(words, batch_first=True, padding_value=PAD),
            pad_sequence(tags, batch_first=True, padding_value=PAD))


torch.manual_seed(0)
loader = DataLoader(TagData(), batch_size=20, shuffle=True, collate_fn=collate)
model = nn.Sequential(nn.Embedding(30, 16, padding_idx=PAD), nn.Linear(16, N_TAGS))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()  # BUG padding-in-loss|ignore-index|padding-in-metric|label-range
for epoch in range(3):
    total, right, count = 0.0, 0, 0
    for words, tags in loader:
        logits = model(words)
        loss = criterion(logits.reshape(-1, N_TAGS), tags.reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        right += (logits.argmax(-1) == tags).sum().item()  # BUG padding-in-loss|ignore-index|padding-in-metric|label-range
        count += tags.numel()  # BUG padding-in-loss|ignore-index|padding-in-metric|label-range
    print(f"epoch {epoch} loss {total / len(loader):.4f} token acc {right / count:.3f}")
