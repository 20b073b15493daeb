"""A recurrent encoder and decoder with additive attention (Bahdanau et al., 2015) that learns to
reverse and sort words.

python seq2seq.py [--steps N] [--quick]
"""

import argparse
import random
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

PAD, SOS, EOS = 0, 1, 2
LETTERS = "abcdefghij"


class Words(IterableDataset):
    """Random words; the target is the word backwards, or sorted when it starts with a vowel."""

    def __init__(self, seed):
        self.seed = seed

    def __iter__(self):
        info = get_worker_info()
        rng = random.Random(self.seed + (info.id if info else 0))
        while True:
            word = [rng.randrange(len(LETTERS)) for _ in range(rng.randint(3, 9))]
            target = sorted(word) if LETTERS[word[0]] in "aei" else word[::-1]
            yield (
                torch.tensor([3 + c for c in word]),
                torch.tensor([SOS] + [3 + c for c in target] + [EOS]),
            )


def collate_fn(batch):
    batch.sort(key=lambda pair: len(pair[0]), reverse=True)
    sources, targets = zip(*batch)
    lengths = torch.tensor([len(s) for s in sources])
    return (
        pad_sequence(sources, batch_first=True),
        lengths,
        pad_sequence(targets, batch_first=True, padding_value=PAD),
    )


class Encoder(nn.Module):
    def __init__(self, vocab_size, embed_size, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_size, padding_idx=PAD)
        self.gru = nn.GRU(embed_size, hidden_size, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden_size, hidden_size)

    def forward(self, src, lengths):
        packed = pack_padded_sequence(self.embedding(src), lengths, batch_first=True)
        outputs, hidden = self.gru(packed)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True)
        return outputs, torch.tanh(self.fc(torch.cat((hidden[-2], hidden[-1]), dim=1)))


class Attention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.attn = nn.Linear(3 * hidden_size, hidden_size)
        self.v = nn.Linear(hidden_size, 1, bias=False)

    def forward(self, hidden, encoder_outputs, mask):
        hidden = hidden.unsqueeze(1).expand(-1, encoder_outputs.size(1), -1)
        energy = torch.tanh(self.attn(torch.cat((hidden, encoder_outputs), dim=2)))
        scores = self.v(energy).squeeze(2).masked_fill(mask == 0, -1e10)
        return F.softmax(scores, dim=1)


class Decoder(nn.Module):
    def __init__(self, vocab_size, embed_size, hidden_size):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_size, padding_idx=PAD)
        self.attention = Attention(hidden_size)
        self.cell = nn.GRUCell(embed_size + 2 * hidden_size, hidden_size)
        self.out = nn.Linear(3 * hidden_size + embed_size, vocab_size)

    def forward(self, token, hidden, encoder_outputs, mask):
        embedded = self.embedding(token)
        weights = self.attention(hidden, encoder_outputs, mask)
        context = torch.bmm(weights.unsqueeze(1), encoder_outputs).squeeze(1)
        hidden = self.cell(torch.cat((embedded, context), dim=1), hidden)
        return self.out(torch.cat((hidden, context, embedded), dim=1)), hidden, weights


class Seq2Seq(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def forward(self, src, lengths, trg, teacher_forcing_ratio=0.5):
        encoder_outputs, hidden = self.encoder(src, lengths)
        mask = src != PAD
        token, logits = trg[:, 0], []
        for t in range(1, trg.size(1)):
            output, hidden, _ = self.decoder(token, hidden, encoder_outputs, mask)
            logits.append(output)
            token = trg[:, t] if torch.rand(1).item() < teacher_forcing_ratio else output.argmax(1)
        return torch.stack(logits, dim=1)


def accuracy(model, batch):
    src, lengths, trg = batch
    with torch.no_grad():
        guess = model(src, lengths, trg, teacher_forcing_ratio=0).argmax(-1)
    right = (guess == trg[:, 1:]) | (trg[:, 1:] == PAD)
    return right.all(1).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--quick", action="store_true", help="25 steps")
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    steps = 25 if args.quick else args.steps
    vocabulary = 3 + len(LETTERS)
    model = Seq2Seq(Encoder(vocabulary, 32, 64), Decoder(vocabulary, 32, 64))
    for name, parameter in model.named_parameters():
        if "weight" in name:
            nn.init.normal_(parameter, mean=0, std=0.08)
        else:
            nn.init.constant_(parameter, 0)
    print(f"{sum(p.numel() for p in model.parameters() if p.requires_grad)} parameters")
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    loader = iter(DataLoader(Words(args.seed), batch_size=64, collate_fn=collate_fn))
    held_out = next(iter(DataLoader(Words(1000), batch_size=256, collate_fn=collate_fn)))
    start = time.time()
    for step in range(1, steps + 1):
        model.train()
        src, lengths, trg = next(loader)
        output = model(src, lengths, trg)
        loss = criterion(output.reshape(-1, output.size(-1)), trg[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if args.quick or step % 100 == 0:
            print(f"step {step:4d} loss {loss.item():.4f} gradient norm {norm.item():.4f}")
    model.eval()
    print(f"accuracy {accuracy(model, held_out):.4f} of whole words")
    print(f"trained in {time.time() - start:.1f} s")


if __name__ == "__main__":
    main()
