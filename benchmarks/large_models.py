"""Whole training steps of larger models, as papers have them. `compile.py --large` runs them: ours
compiled as a whole, PyTorch's model.
"""

from __future__ import annotations

import numpy as np


def _step(lib, compile, model, optimizer, loss_of, *batch):
    """The step that minimizes what `loss_of` makes of a model and a batch."""
    whole = compile is not None and lib.__name__ == "pellucid"
    run = model if compile is None or whole else compile(model)

    def step(*batch):
        optimizer.zero_grad()
        loss = loss_of(run, *batch)
        loss.backward()
        optimizer.step()
        return loss

    called = compile(step) if whole else step
    return lambda: called(*batch)


class _Data:
    def __init__(self, lib):
        lib.manual_seed(0)
        self.lib, self.draw = lib, np.random.default_rng(0)

    def normal(self, *shape):
        return self.lib.from_numpy(self.draw.standard_normal(shape).astype(np.float32))

    def whole(self, high, *shape, low=0):
        return self.lib.from_numpy(self.draw.integers(low, high, shape))


def resnet50(lib, compile, size=160, batch=2):
    nn, F, data = lib.nn, lib.nn.functional, _Data(lib)

    class Bottleneck(nn.Module):
        def __init__(self, before, width, stride):
            super().__init__()
            after = 4 * width
            self.c1, self.b1 = nn.Conv2d(before, width, 1, bias=False), nn.BatchNorm2d(width)
            self.c2, self.b2 = (
                nn.Conv2d(width, width, 3, stride, 1, bias=False),
                nn.BatchNorm2d(width),
            )
            self.c3, self.b3 = nn.Conv2d(width, after, 1, bias=False), nn.BatchNorm2d(after)
            self.down = None
            if stride != 1 or before != after:
                self.down = nn.Sequential(
                    nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
                )

        def forward(self, x):
            y = F.relu(self.b1(self.c1(x)))
            y = self.b3(self.c3(F.relu(self.b2(self.c2(y)))))
            return F.relu(y + (x if self.down is None else self.down(x)))

    layers, before = (
        [
            nn.Conv2d(3, 64, 7, 2, 3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        ],
        64,
    )
    for k, count in enumerate((3, 4, 6, 3)):
        for n in range(count):
            layers.append(Bottleneck(before, 64 << k, 2 if n == 0 and k else 1))
            before = 256 << k
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 100))
    optimizer = lib.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    return _step(
        lib,
        compile,
        model,
        optimizer,
        lambda m, x, y: F.cross_entropy(m(x), y),
        data.normal(batch, 3, size, size),
        data.whole(100, batch),
    )


def mobile(lib, compile, size=96, batch=8):
    nn, F, data = lib.nn, lib.nn.functional, _Data(lib)

    class Block(nn.Module):
        def __init__(self, before, after, stride, expand=4):
            super().__init__()
            inner = before * expand
            self.body = nn.Sequential(
                nn.Conv2d(before, inner, 1, bias=False),
                nn.BatchNorm2d(inner),
                nn.ReLU6(),
                nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False),
                nn.BatchNorm2d(inner),
                nn.ReLU6(),
                nn.Conv2d(inner, after, 1, bias=False),
                nn.BatchNorm2d(after),
            )
            self.same = stride == 1 and before == after

        def forward(self, x):
            return x + self.body(x) if self.same else self.body(x)

    plan = [
        (16, 24, 2),
        (24, 24, 1),
        (24, 32, 2),
        (32, 32, 1),
        (32, 64, 2),
        (64, 64, 1),
        (64, 96, 1),
    ]
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU6(),
        *[Block(*p) for p in plan],
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(96, 10),
    )
    optimizer = lib.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return _step(
        lib,
        compile,
        model,
        optimizer,
        lambda m, x, y: F.cross_entropy(m(x), y),
        data.normal(batch, 3, size, size),
        data.whole(10, batch),
    )


def unet(lib, compile, size=64, batch=4, width=32):
    nn, F, data = lib.nn, lib.nn.functional, _Data(lib)

    def double(a, b):
        return nn.Sequential(
            nn.Conv2d(a, b, 3, padding=1),
            nn.GroupNorm(8, b),
            nn.SiLU(),
            nn.Conv2d(b, b, 3, padding=1),
            nn.GroupNorm(8, b),
            nn.SiLU(),
        )

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            w = width
            self.d1, self.d2, self.d3 = double(3, w), double(w, 2 * w), double(2 * w, 4 * w)
            self.u2, self.u1 = (
                nn.ConvTranspose2d(4 * w, 2 * w, 2, 2),
                nn.ConvTranspose2d(2 * w, w, 2, 2),
            )
            self.e2, self.e1, self.out = double(4 * w, 2 * w), double(2 * w, w), nn.Conv2d(w, 5, 1)

        def forward(self, x):
            a = self.d1(x)
            b = self.d2(F.max_pool2d(a, 2))
            c = self.d3(F.max_pool2d(b, 2))
            y = self.e2(lib.cat([self.u2(c), b], 1))
            return self.out(self.e1(lib.cat([self.u1(y), a], 1)))

    model = UNet()
    optimizer = lib.optim.AdamW(model.parameters())
    x, y = data.normal(batch, 3, size, size), data.whole(5, batch, size, size)
    return _step(lib, compile, model, optimizer, lambda m, x, y: F.cross_entropy(m(x), y), x, y)


def speech(lib, compile, batch=8, steps=80):
    nn, F, data = lib.nn, lib.nn.functional, _Data(lib)

    class Speech(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(40, 128, 5, 2, 2)
            self.gru = nn.GRU(128, 128, 2, bidirectional=True, batch_first=True)
            self.head = nn.Linear(256, 30)

        def forward(self, x):
            y, _ = self.gru(F.relu(self.conv(x)).transpose(1, 2))
            return self.head(y).log_softmax(-1).transpose(0, 1)

    model = Speech()
    optimizer = lib.optim.Adam(model.parameters())
    x, y = data.normal(batch, 40, steps), data.whole(30, batch, 12, low=1)
    lengths, targets = lib.full((batch,), steps // 2), lib.full((batch,), 12)
    return _step(
        lib,
        compile,
        model,
        optimizer,
        lambda m, x, y, a, b: F.ctc_loss(m(x), y, a, b),
        x,
        y,
        lengths,
        targets,
    )


def wave(lib, compile, batch=8, steps=2048):
    nn, F, data = lib.nn, lib.nn.functional, _Data(lib)
    layers = [nn.Conv1d(1, 32, 9, padding=4), nn.ReLU()]
    for k in range(4):
        layers += [
            nn.Conv1d(32, 32, 9, padding=4 << k, dilation=1 << k),
            nn.BatchNorm1d(32),
            nn.ReLU(),
        ]
    model = nn.Sequential(
        *layers, nn.MaxPool1d(4), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 10)
    )
    x, y = data.normal(batch, 1, steps), data.whole(10, batch)
    return _step(
        lib,
        compile,
        model,
        lib.optim.Adam(model.parameters()),
        lambda m, x, y: F.cross_entropy(m(x), y),
        x,
        y,
    )


def volume(lib, compile, batch=2, size=24):
    nn, F, data = lib.nn, lib.nn.functional, _Data(lib)
    model = nn.Sequential(
        nn.Conv3d(1, 16, 3, padding=1),
        nn.BatchNorm3d(16),
        nn.ReLU(),
        nn.MaxPool3d(2),
        nn.Conv3d(16, 32, 3, padding=1),
        nn.BatchNorm3d(32),
        nn.ReLU(),
        nn.MaxPool3d(2),
        nn.Conv3d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool3d(1),
        nn.Flatten(),
        nn.Linear(64, 4),
    )
    x, y = data.normal(batch, 1, size, size, size), data.whole(4, batch)
    return _step(
        lib,
        compile,
        model,
        lib.optim.Adam(model.parameters()),
        lambda m, x, y: F.cross_entropy(m(x), y),
        x,
        y,
    )


def graph(lib, compile, nodes=2000, edges=10000, width=64):
    nn, F, data = lib.nn, lib.nn.functional, _Data(lib)

    class Layer(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.message, self.own = nn.Linear(2 * a, b), nn.Linear(a + b, b)

        def forward(self, x, source, target):
            m = F.relu(self.message(lib.cat([x[source], x[target]], 1)))
            gathered = lib.zeros(x.shape[0], m.shape[1]).index_add(0, target, m)
            return F.relu(self.own(lib.cat([x, gathered], 1)))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two, self.head = (
                Layer(32, width),
                Layer(width, width),
                nn.Linear(width, 7),
            )

        def forward(self, x, source, target):
            return self.head(self.two(self.one(x, source, target), source, target))

    model = Net()
    batch = (
        data.normal(nodes, 32),
        data.whole(nodes, edges),
        data.whole(nodes, edges),
        data.whole(7, nodes),
    )
    loss = lambda m, x, s, t, y: F.cross_entropy(m(x, s, t), y)
    return _step(lib, compile, model, lib.optim.Adam(model.parameters()), loss, *batch)


def bert(lib, compile, batch=8, length=64, width=192, layers=4, heads=6):
    nn, F, data = lib.nn, lib.nn.functional, _Data(lib)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
            self.f1, self.f2, self.n1, self.n2 = (
                nn.Linear(width, 4 * width),
                nn.Linear(4 * width, width),
                nn.LayerNorm(width),
                nn.LayerNorm(width),
            )
            self.drop = nn.Dropout(0.1)

        def forward(self, x, mask):
            b, t, _ = x.shape
            q, k, v = (f(x).view(b, t, heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
            y = F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, dropout_p=0.1 if self.training else 0.0
            )
            x = self.n1(x + self.drop(self.o(y.transpose(1, 2).reshape(b, t, width))))
            return self.n2(x + self.drop(self.f2(F.gelu(self.f1(x)))))

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places, self.norm, self.drop = (
                nn.Embedding(1000, width),
                nn.Embedding(length, width),
                nn.LayerNorm(width),
                nn.Dropout(0.1),
            )
            self.layers, self.head = (
                nn.ModuleList(Layer() for _ in range(layers)),
                nn.Linear(width, 1000),
            )

        def forward(self, ids, mask):
            x = self.drop(self.norm(self.words(ids) + self.places(lib.arange(ids.shape[1]))))
            for layer in self.layers:
                x = layer(x, mask)
            return self.head(x)

    model = Bert()
    mask = (lib.arange(length)[None, :] < data.whole(length + 1, batch, low=length // 2)[:, None])[
        :, None, None, :
    ]
    batch = data.whole(1000, batch, length), mask, data.whole(1000, batch, length)
    loss = lambda m, x, k, y: F.cross_entropy(m(x, k).flatten(0, 1), y.flatten())
    return _step(lib, compile, model, lib.optim.AdamW(model.parameters()), loss, *batch)


def cases():
    """Title, maker and goal of each case: of the time of the faster of PyTorch and torch.compile."""
    return {
        "resnet50": ("ResNet-50, 2x3x160x160, SGD", resnet50, 0.5),
        "mobile": ("MobileNet-like, 8x3x96x96, SGD", mobile, 0.5),
        "unet": ("UNet, GroupNorm, 4x3x64x64, AdamW", unet, 0.5),
        "speech": ("bidirectional GRU with CTC, 8x80", speech, 0.5),
        "wave": ("dilated conv1d, 8x2048", wave, 0.5),
        "volume": ("conv3d, 2x24x24x24", volume, 0.5),
        "graph": ("graph network by index_add, 10,000 edges", graph, 0.5),
        "bert": ("BERT 4 layers, width 192, 8x64, dropout", bert, 0.5),
    }
