"""A word language model with an LSTM, trained with truncated backpropagation through time.

python word_lstm.py [--epochs N] [--quick]
"""

import argparse
import math
import time

import torch
import torch.nn as nn

WORDS = (
    "the a one every some my your their old young quick slow small great red blue cat dog bird fox man girl king queen "
    "sees hears likes fears finds helps calls follows and but then while"
).split()
DETERMINERS, ADJECTIVES, NOUNS, VERBS, JOINS = (
    WORDS[:8],
    WORDS[8:16],
    WORDS[16:24],
    WORDS[24:32],
    WORDS[32:],
)


def corpus(length, generator):
    """Sentences of a small grammar, as word numbers."""

    def pick(words):
        return words[torch.randint(len(words), (1,), generator=generator).item()]

    out = []
    while len(out) < length:
        out += [
            pick(DETERMINERS),
            pick(ADJECTIVES),
            pick(NOUNS),
            pick(VERBS),
            pick(DETERMINERS),
            pick(NOUNS),
            pick(JOINS),
        ]
    index = {w: i for i, w in enumerate(WORDS)}
    return torch.tensor([index[w] for w in out[:length]])


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.2):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        self.nhid, self.nlayers, self.ntoken = nhid, nlayers, ntoken
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return torch.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(
            self.nlayers, bsz, self.nhid
        )


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1111)
    parser.add_argument("--quick", action="store_true", help="20 steps of a smaller model")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    bptt, bsz, width = (10, 8, 32) if args.quick else (35, 20, 128)
    data = batchify(corpus(2000 if args.quick else 20000, torch.Generator().manual_seed(7)), bsz)
    model = RNNModel(len(WORDS), width, width, 2)
    criterion = nn.NLLLoss()
    lr = 2.0
    start, steps = time.time(), 0
    for epoch in range(1 if args.quick else args.epochs):
        model.train()
        hidden = model.init_hidden(bsz)
        for i in range(0, data.size(0) - 1, bptt):
            seq_len = min(bptt, len(data) - 1 - i)
            inputs, targets = data[i : i + seq_len], data[i + 1 : i + 1 + seq_len].view(-1)
            model.zero_grad()
            hidden = repackage_hidden(hidden)
            output, hidden = model(inputs, hidden)
            loss = criterion(output, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-lr)
            steps += 1
            if args.quick or steps % 10 == 0:
                print(
                    f"step {steps:4d} loss {loss.item():.4f} perplexity {math.exp(loss.item()):.2f}"
                )
            if args.quick and steps == 20:
                break
    print(f"{steps} steps in {time.time() - start:.1f} s")


if __name__ == "__main__":
    main()
