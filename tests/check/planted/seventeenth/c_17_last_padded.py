import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(16)


class Reviews(Dataset):
    def __init__(self, n):
        self.items = []
        for _ in range(n):
            length = int(torch.randint(3, 25, ()))
            tokens = torch.randint(1, 20, (length,))
            label = int(tokens[-1] > 10)
            self.items.append((tokens, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    tokens, labels = zip(*batch)
    lengths = torch.tensor([len(t) for t in tokens])
    return pad_sequence(tokens, batch_first=True), lengths, torch.tensor(labels)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 16, padding_idx=0)
        self.gru = nn.GRU(16, 24, batch_first=True)
        self.fc = nn.Linear(24, 2)

    def forward(self, tokens, lengths):
        out, _ = self.gru(self.emb(tokens))  # BUG padding-read
        last = out[:, -1]  # BUG padding-read
        return self.fc(last)


loader = DataLoader(Reviews(400), batch_size=40, shuffle=True, collate_fn=collate)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(5):
    correct = 0
    for tokens, lengths, labels in loader:
        optimizer.zero_grad()
        out = model(tokens, lengths)
        loss = criterion(out, labels)
        loss.backward()
        optimizer.step()
        correct += (out.argmax(1) == labels).sum().item()
    print(epoch, loss.item(), correct / 400)
