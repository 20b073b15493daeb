"""The decoder is given the targets."""

import torch
from torch import nn

PAD, BOS, VOCAB = 0, 1, 16


class Seq2Seq(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.project = nn.Linear(dim, VOCAB)

    def forward(self, src, tgt_in):
        _, state = self.encoder(self.embed(src))
        hidden, _ = self.decoder(self.embed(tgt_in), state)
        return self.project(hidden)


def batch(n=32, length=6):
    src = torch.randint(2, VOCAB, (n, length))
    return src, src.flip(1)


def train():
    torch.manual_seed(4)
    model = Seq2Seq()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    for step in range(12):
        src, tgt = batch()
        decoder_input = tgt  # <- finding
        logits = model(src, decoder_input)
        loss = criterion(logits.reshape(-1, VOCAB), tgt.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            print(f"step {step + 1}: loss {loss.item():.3f}")


if __name__ == "__main__":
    train()
