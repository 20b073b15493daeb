"""Does the sequence contain the trigger token? Small transformer with a CLS position."""
import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, CLS, TRIGGER, VOCAB, MAXLEN = 0, 1, 2, 20, 12


def make_data(n, gen):
    tokens = torch.randint(3, VOCAB, (n, MAXLEN), generator=gen)
    tokens[:, 0] = CLS
    labels = torch.randint(0, 2, (n,), generator=gen)
    lengths = torch.randint(4, MAXLEN, (n,), generator=gen)
    for i in range(n):
        if labels[i] == 1:
            where = int(torch.randint(1, int(lengths[i]), (1,), generator=gen))
            tokens[i, where] = TRIGGER
        tokens[i, lengths[i]:] = PAD
    return tokens, labels


class Classifier(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 2))

    def forward(self, tokens):
        x = self.embed(tokens)
        padding = tokens == PAD
        mixed, _ = self.attn(x, x, x, key_padding_mask=padding, need_weights=False)
        x = self.norm(x + mixed)
        return self.head(x[:, 0])


def main():
    torch.manual_seed(1)
    gen = torch.Generator().manual_seed(1)
    x, y = make_data(1200, gen)
    x_train, y_train, x_test, y_test = x[:1000], y[:1000], x[1000:], y[1000:]
    model = Classifier()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(8):
        model.train()
        for idx in torch.randperm(1000, generator=gen).split(50):
            opt.zero_grad()
            loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            acc = (model(x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.3f} test acc {acc:.3f}")


main()
