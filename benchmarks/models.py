"""Whole training steps of the models people learn with: forward, loss, backward, optimizer."""

from __future__ import annotations

import harness

suite = harness.Suite("training steps")


def training(lib, model, x, y, optimizer, loss=None):
    """One step on fixed data."""
    criterion = loss or lib.nn.functional.cross_entropy

    def work():
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

    return work


@suite.case("MLP 128x784-128-10, Adam", target=1.0)
def mlp(lib):
    nn = lib.nn
    lib.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    return training(
        lib,
        model,
        lib.randn(128, 784),
        lib.randint(0, 10, (128,)),
        lib.optim.Adam(model.parameters()),
    )


@suite.case("MNIST CNN, batch 64, Adam", target=1.0)
def mnist(lib):
    nn = lib.nn
    lib.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(9216, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, 10),
    )
    return training(
        lib,
        model,
        lib.randn(64, 1, 28, 28),
        lib.randint(0, 10, (64,)),
        lib.optim.Adam(model.parameters()),
    )


def residual(lib, before, after, stride):
    """Two convolutions and a shortcut."""
    nn, functional = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(after)
            self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(after)
            self.shortcut = nn.Sequential()
            if stride != 1 or before != after:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
                )

        def forward(self, x):
            out = functional.relu(self.bn1(self.conv1(x)))
            return functional.relu(self.bn2(self.conv2(out)) + self.shortcut(x))

    return Block()


def residual_network(lib):
    """Three residual blocks, of 32, 64 and 128 channels: images of 3 channels to 10 classes."""
    nn = lib.nn
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, 1, 1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        residual(lib, 32, 32, 1),
        residual(lib, 32, 64, 2),
        residual(lib, 64, 128, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(128, 10),
    )


@suite.case("residual CNN 32x3x32x32, BatchNorm, SGD momentum", target=1.0)
def resnet(lib):
    lib.manual_seed(0)
    model = residual_network(lib)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return training(lib, model, lib.randn(32, 3, 32, 32), lib.randint(0, 10, (32,)), optimizer)


def transformer(lib, vocabulary, width, heads, layers, length):
    """A GPT as people write it."""
    nn, functional = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch, steps, _ = x.shape
            q, k, v = (
                t.view(batch, steps, heads, width // heads).transpose(1, 2)
                for t in self.qkv(self.ln1(x)).split(width, dim=2)
            )
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).contiguous().view(batch, steps, width))
            return x + self.fc2(functional.gelu(self.fc1(self.ln2(x))))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = (
                nn.Embedding(vocabulary, width),
                nn.Embedding(length, width),
            )
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, index):
            x = self.tokens(index) + self.positions(lib.arange(index.shape[1]))
            return self.head(self.norm(self.blocks(x))).view(-1, vocabulary)

    return GPT()


@suite.case("GPT 4 layers, width 128, 12x64 tokens, Adam", target=1.0)
def gpt(lib):
    lib.manual_seed(0)
    model = transformer(lib, 65, 128, 4, 4, 64)
    optimizer = lib.optim.Adam(model.parameters())
    return training(
        lib, model, lib.randint(0, 65, (12, 64)), lib.randint(0, 65, (12 * 64,)), optimizer
    )


def language_model(lib):
    """Two LSTM layers between an embedding and a linear layer: (time, batch) of 200 words to (time
    * batch, 200) scores.
    """
    nn = lib.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.lstm, self.head = (
                nn.Embedding(200, 128),
                nn.LSTM(128, 128, 2),
                nn.Linear(128, 200),
            )

        def forward(self, index):
            return self.head(self.lstm(self.tokens(index))[0]).view(-1, 200)

    return Model()


@suite.case("LSTM language model 2x128, 20x35 tokens, SGD", target=1.0)
def lstm(lib):
    lib.manual_seed(0)
    model = language_model(lib)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1)
    return training(
        lib, model, lib.randint(0, 200, (35, 20)), lib.randint(0, 200, (700,)), optimizer
    )


@suite.case("LSTM 64, 20 steps of 8, forward and backward", target=1.0)
def small_lstm(lib):
    lib.manual_seed(0)
    model, x = lib.nn.LSTM(64, 64), lib.randn(20, 8, 64)

    def work():
        for p in model.parameters():
            p.grad = None
        model(x)[0].sum().backward()

    return work


@suite.case("element-wise chain on 2 million values, forward and backward", target=1.0)
def elementwise(lib):
    x = lib.linspace(-3, 3, 2_000_000, requires_grad=True)

    def work():
        x.grad = None
        (lib.tanh(x) * lib.sigmoid(x) + x * 0.5).mean().backward()

    return work


if __name__ == "__main__":
    suite.main()
