"""A character model whose forward computes the loss, as hub models do."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the big red bear " * 12


class Chunks(Dataset):
    def __init__(self, text, length=24):
        self.alphabet = sorted(set(text))
        index = {c: i for i, c in enumerate(self.alphabet)}
        self.ids = torch.tensor([index[c] for c in text])
        self.length = length

    def __len__(self):
        return (len(self.ids) - 1) // self.length

    def __getitem__(self, k):
        start = k * self.length
        chunk = self.ids[start : start + self.length + 1]
        return {"input_ids": chunk, "labels": chunk}


class CharLM(nn.Module):
    def __init__(self, vocabulary, width=48):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.lm_head = nn.Linear(width, vocabulary)

    def forward(self, input_ids, labels=None):
        logits = self.lm_head(self.rnn(self.embed(input_ids))[0])
        if labels is None:
            return None, logits
        shifted, wanted = logits[:, :-1], labels[:, 1:]
        return F.cross_entropy(shifted.flatten(0, 1), wanted.flatten()), logits


def main():
    torch.manual_seed(25)
    data = Chunks(TEXT)
    model = CharLM(len(data.alphabet))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for epoch in range(6):
        for batch in DataLoader(data, batch_size=8, shuffle=True):
            loss, _ = model(**batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")


main()
