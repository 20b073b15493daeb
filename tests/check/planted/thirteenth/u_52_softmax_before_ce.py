import torch
import torch.nn as nn
import torch.nn.functional as F


class Recorder:
    """Keeps the last probabilities of a classifier for the dashboard."""

    def __init__(self, layer):
        self.probs = None
        layer.register_forward_hook(self.on_forward)  # BUG softmax-before-ce

    def on_forward(self, module, inputs, output):  # BUG softmax-before-ce
        output = output.softmax(dim=-1)  # BUG softmax-before-ce
        self.probs = output.detach()  # BUG softmax-before-ce
        return output  # BUG softmax-before-ce

    def confidence(self):
        return self.probs.max(dim=-1).values.mean().item()


class Encoder(nn.Module):
    def __init__(self, vocab=50, dim=24, classes=8):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.body = nn.Sequential(nn.Linear(dim, 48), nn.ReLU())
        self.head = nn.Linear(48, classes)

    def forward(self, ids):
        return self.head(self.body(self.bag(ids)))


def documents(n, g):
    y = torch.randint(0, 8, (n,), generator=g)
    ids = torch.randint(0, 50, (n, 16), generator=g)
    topical = y[:, None] * 6 + torch.randint(0, 6, (n, 16), generator=g)
    use = torch.rand(n, 16, generator=g) < 0.35
    return torch.where(use, topical, ids), y


def main():
    torch.manual_seed(18)
    g = torch.Generator().manual_seed(18)
    x, y = documents(1200, g)
    x_val, y_val = documents(300, g)
    model = Encoder()
    recorder = Recorder(model.head)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    for epoch in range(8):
        model.train()
        for idx in torch.randperm(1200, generator=g).split(60):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])  # BUG softmax-before-ce
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = (model(x_val).argmax(1) == y_val).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f} confidence {recorder.confidence():.3f}")


main()
