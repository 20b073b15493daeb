"""Sequence reversal with a GRU encoder and a GRU decoder (teacher forcing)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

SOS, VOCAB, LENGTH = 0, 8, 5


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)

    def forward(self, src):
        return self.gru(self.embed(src))[1]


class Decoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, tokens, state):
        h, state = self.gru(self.embed(tokens), state)
        return self.out(h), state


def sample(n):
    src = torch.randint(1, VOCAB, (n, LENGTH))
    return src, src.flip(1)


def greedy(encoder, decoder, src):
    state = encoder(src)
    token = torch.full((len(src), 1), SOS)
    outs = []
    for _ in range(LENGTH):
        logits, state = decoder(token, state)
        token = logits.argmax(-1)
        outs.append(token)
    return torch.cat(outs, 1)


def main():
    torch.manual_seed(8)
    encoder, decoder = Encoder(48), Decoder(48)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=5e-3)  # BUG param-not-in-optimizer
    for step in range(300):
        src, target = sample(48)
        shifted = torch.cat([torch.full((48, 1), SOS), target[:, :-1]], dim=1)
        logits, _ = decoder(shifted, encoder(src))
        loss = F.cross_entropy(logits.reshape(-1, VOCAB), target.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 100 == 0:
            with torch.no_grad():
                src, target = sample(200)
                acc = (greedy(encoder, decoder, src) == target).float().mean().item()
            print(f"step {step + 1} loss {loss.item():.3f} token accuracy {acc:.3f}")


main()
