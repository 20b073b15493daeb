"""Sentiment of toy sentences with a GRU."""
import random

import torch
from torch import nn, optim
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

GOOD = ["nice", "great", "lovely", "fun"]
BAD = ["awful", "boring", "poor", "sad"]
FILL = ["the", "film", "was", "a", "plot", "very", "really", "ending"]
vocab = {w: i + 1 for i, w in enumerate(GOOD + BAD + FILL)}


def sentence():
    label = random.randint(0, 1)
    words = random.choices(FILL, k=random.randint(3, 7))
    words[random.randrange(len(words))] = random.choice(GOOD if label else BAD)
    return [vocab[w] for w in words], label


def collate(batch):
    ids = [torch.tensor(x) for x, _ in batch]
    labels = torch.tensor([y for _, y in batch], dtype=torch.float32)
    return pad_sequence(ids, batch_first=True), labels


class SentimentGRU(nn.Module):
    def __init__(self, n_words, dim=24, hidden=32, dropout=0.3):
        super().__init__()
        self.embed = nn.Embedding(n_words, dim, padding_idx=0)
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(hidden, 1)

    def forward(self, ids):
        states, _ = self.gru(self.drop(self.embed(ids)))
        mask = (ids != 0).unsqueeze(-1)
        pooled = states.masked_fill(~mask, -1e4).max(dim=1).values
        return self.out(self.drop(pooled)).squeeze(-1)


def evaluate(model, loader, criterion):
    model.eval()  # BUG train-in-eval-mode
    right = total = 0
    with torch.no_grad():
        for ids, labels in loader:
            logits = model(ids)
            right += ((logits > 0).float() == labels).sum().item()
            total += labels.numel()
    return right / total


def train_epoch(model, loader, criterion, optimizer):  # BUG train-in-eval-mode
    running, count = 0.0, 0
    for ids, labels in loader:  # BUG train-in-eval-mode
        optimizer.zero_grad()
        loss = criterion(model(ids), labels)  # BUG train-in-eval-mode
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss.item() * labels.numel()
        count += labels.numel()
    return running / count


def main():
    random.seed(3)
    torch.manual_seed(3)
    pairs = [sentence() for _ in range(240)]
    train_loader = DataLoader(pairs[:200], batch_size=20, shuffle=True, collate_fn=collate)
    valid_loader = DataLoader(pairs[200:], batch_size=20, collate_fn=collate)
    model = SentimentGRU(len(vocab) + 1)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = optim.AdamW(model.parameters(), lr=5e-3)
    model.train()
    for epoch in range(4):  # BUG train-in-eval-mode
        loss = train_epoch(model, train_loader, criterion, optimizer)
        acc = evaluate(model, valid_loader, criterion)
        print(f"epoch {epoch}: loss {loss:.3f} acc {acc:.3f}")


main()
