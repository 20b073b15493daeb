"""The standard models of vision and language in small widths, written with PyTorch, for the import
of ONNX files.
"""

import math

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn
F = torch.nn.functional


class Basic(nn.Module):
    def __init__(self, a, b, stride=1):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
        self.conv2, self.bn2 = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
        self.down = (
            nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))
            if stride != 1 or a != b
            else None
        )

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.down is None else self.down(x)))


class Bottleneck(nn.Module):
    def __init__(self, a, b, stride=1):
        super().__init__()
        m = b // 4
        self.conv1, self.bn1 = nn.Conv2d(a, m, 1, bias=False), nn.BatchNorm2d(m)
        self.conv2, self.bn2 = (
            nn.Conv2d(m, m, 3, stride, 1, groups=2, bias=False),
            nn.BatchNorm2d(m),
        )
        self.conv3, self.bn3 = nn.Conv2d(m, b, 1, bias=False), nn.BatchNorm2d(b)
        self.down = nn.Sequential(nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(F.relu(self.bn2(self.conv2(y)))))
        return F.relu(y + self.down(x))


class ResNet(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 7, 2, 3, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        self.layer1, self.layer2 = (
            nn.Sequential(block(8, 8), block(8, 8)),
            nn.Sequential(block(8, 16, 2), block(16, 16)),
        )
        self.pool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(16, 10)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.layer2(self.layer1(self.stem(x)))), 1))


def vgg():
    layers, a = [], 3
    for b in (8, "M", 16, "M", 16, 16, "M"):
        layers += (
            [nn.MaxPool2d(2, 2)] if b == "M" else [nn.Conv2d(a, b, 3, padding=1), nn.ReLU(True)]
        )
        a = a if b == "M" else b
    head = [
        nn.AdaptiveAvgPool2d((2, 2)),
        nn.Flatten(),
        nn.Linear(64, 32),
        nn.ReLU(True),
        nn.Dropout(),
        nn.Linear(32, 10),
    ]
    return nn.Sequential(*layers, *head)


class SE(nn.Module):
    def __init__(self, c, gate):
        super().__init__()
        self.fc1, self.fc2, self.gate = nn.Conv2d(c, 4, 1), nn.Conv2d(4, c, 1), gate

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1)
        return x * self.gate(self.fc2(F.relu(self.fc1(s))))


class Inverted(nn.Module):
    """The block of MobileNetV2 and V3 and of EfficientNet."""

    def __init__(self, a, b, stride, act, se=None):
        super().__init__()
        m = a * 3
        parts = [
            nn.Conv2d(a, m, 1, bias=False),
            nn.BatchNorm2d(m),
            act(),
            nn.Conv2d(m, m, 3, stride, 1, groups=m, bias=False),
        ]
        parts += (
            [nn.BatchNorm2d(m), act()]
            + ([SE(m, se)] if se else [])
            + [nn.Conv2d(m, b, 1, bias=False), nn.BatchNorm2d(b)]
        )
        self.body, self.add = nn.Sequential(*parts), stride == 1 and a == b

    def forward(self, x):
        return x + self.body(x) if self.add else self.body(x)


def mobile(act, se=None):
    stem = [nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), act()]
    blocks = [Inverted(8, 8, 1, act, se), Inverted(8, 12, 2, act, se)]
    return nn.Sequential(
        *stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(12, 10)
    )


class DenseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.layers = nn.ModuleList(
            [
                nn.Sequential(
                    nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, 4, 3, padding=1, bias=False)
                )
                for c in (8, 12, 16)
            ]
        )
        self.transition = nn.Sequential(
            nn.BatchNorm2d(20), nn.ReLU(), nn.Conv2d(20, 8, 1), nn.AvgPool2d(2, 2)
        )
        self.fc = nn.Linear(8, 10)

    def forward(self, x):
        parts = [self.stem(x)]
        for layer in self.layers:
            parts.append(layer(torch.cat(parts, 1)))
        return self.fc(self.transition(torch.cat(parts, 1)).mean((2, 3)))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.merge, self.out = (
            nn.Conv2d(16, 8, 3, padding=1, padding_mode="reflect"),
            nn.Conv2d(8, 2, 1),
        )
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x):
        a = F.leaky_relu(self.down1(x), 0.2)
        b = F.leaky_relu(self.down2(F.max_pool2d(a, 2)), 0.2)
        y = F.relu(self.norm(self.merge(torch.cat([self.up(b), a], 1))))
        return self.out(y), F.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=False)


class Attention(nn.Module):
    def __init__(self, c, heads, causal=False):
        super().__init__()
        self.qkv, self.out, self.heads, self.causal = (
            nn.Linear(c, 3 * c),
            nn.Linear(c, c),
            heads,
            causal,
        )

    def forward(self, x, mask=None):
        b, t, c = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, c, heads, causal=False):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(c), nn.LayerNorm(c)
        self.attn, self.mlp = (
            Attention(c, heads, causal),
            nn.Sequential(nn.Linear(c, 2 * c), nn.GELU(), nn.Linear(2 * c, c)),
        )

    def forward(self, x, mask=None):
        x = x + self.attn(self.ln1(x), mask)
        return x + self.mlp(self.ln2(x))


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 16, 8, 8)
        self.cls, self.pos = (
            nn.Parameter(torch.randn(1, 1, 16) * 0.02),
            nn.Parameter(torch.randn(1, 17, 16) * 0.02),
        )
        self.blocks, self.norm, self.head = (
            nn.Sequential(Block(16, 4), Block(16, 4)),
            nn.LayerNorm(16),
            nn.Linear(16, 10),
        )

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        return self.head(self.norm(self.blocks(x))[:, 0])


class Bert(nn.Module):
    """An encoder with token types, a padding mask and a pooled output."""

    def __init__(self):
        super().__init__()
        self.word, self.place, self.kind = (
            nn.Embedding(50, 16),
            nn.Embedding(32, 16),
            nn.Embedding(2, 16),
        )
        self.norm, self.pool = nn.LayerNorm(16), nn.Linear(16, 16)
        self.blocks = nn.ModuleList([Block(16, 4), Block(16, 4)])

    def forward(self, ids, kinds, seen):
        place = torch.arange(ids.shape[1], device=ids.device).unsqueeze(0)
        x = self.norm(self.word(ids) + self.place(place) + self.kind(kinds))
        mask = (1.0 - seen[:, None, None, :].to(x.dtype)) * -10000.0
        for block in self.blocks:
            x = block(x, mask)
        return x, torch.tanh(self.pool(x[:, 0]))


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe, self.norm = nn.Embedding(50, 16), nn.Embedding(32, 16), nn.LayerNorm(16)
        self.h = nn.ModuleList([Block(16, 4, True), Block(16, 4, True)])
        self.lm_head = nn.Linear(16, 50, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device))
        for block in self.h:
            x = block(x)
        return self.lm_head(self.norm(x))


class Manual(nn.Module):
    """Attention with its parts and a mask by masked_fill, positions as waves, new GELU."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        place, rate = (
            torch.arange(32.0).unsqueeze(1),
            torch.exp(torch.arange(0, 16, 2.0) * (-math.log(1e4) / 16)),
        )
        self.register_buffer(
            "waves",
            torch.stack([torch.sin(place * rate), torch.cos(place * rate)], -1).reshape(32, 16),
        )
        self.register_buffer("mask", torch.tril(torch.ones(32, 32)).view(1, 1, 32, 32))

    def forward(self, x):
        b, t, c = x.size()
        x = x + self.waves[:t]
        q, k, v = (z.view(b, t, 4, c // 4).transpose(1, 2) for z in self.qkv(x).split(c, dim=2))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = F.softmax(att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")), dim=-1)
        return F.gelu(
            self.out((att @ v).transpose(1, 2).contiguous().view(b, t, c)), approximate="tanh"
        )


class Recurrent(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(50, 8), kind(8, 12, 2, batch_first=True, **options)
        self.head = nn.Linear(24 if options.get("bidirectional") else 12, 5)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


class Detector(nn.Module):
    """A pyramid of two levels with Resize, boxes from anchors, and the best of them by TopK."""

    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 2, 1)
        self.cls, self.box = nn.Conv2d(8, 2, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x):
        a = F.relu(self.c1(x))
        b = F.relu(self.c2(a))
        p = a + F.interpolate(b, size=a.shape[-2:], mode="nearest")
        score = self.cls(p).flatten(2).transpose(1, 2).sigmoid()
        box = self.box(p).flatten(2).transpose(1, 2)
        h, w = p.shape[-2:]
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        centre = torch.stack([xs, ys], -1).reshape(1, -1, 2).float()
        corner = torch.cat(
            [
                centre + box[..., :2] - box[..., 2:].exp() / 2,
                centre + box[..., :2] + box[..., 2:].exp() / 2,
            ],
            -1,
        )
        best, where = score.max(-1)
        top, index = best.topk(5, dim=1)
        return (
            torch.gather(corner, 1, index.unsqueeze(-1).expand(-1, -1, 4)).clamp(0, 40),
            top,
            where.gather(1, index),
        )


class Mixed(nn.Module):
    """Index arithmetic, einsum, norms and activations that exporters spell out."""

    def __init__(self):
        super().__init__()
        self.norm, self.prelu, self.inst = (
            nn.BatchNorm1d(6),
            nn.PReLU(6),
            nn.InstanceNorm1d(6, affine=True),
        )
        self.weight, self.conv = (
            nn.Parameter(torch.randn(6, 6)),
            nn.Conv1d(6, 6, 3, padding=2, dilation=2),
        )

    def forward(self, x):
        y = self.inst(self.prelu(self.norm(self.conv(x))))
        y = torch.einsum("bct,cd->bdt", y, self.weight)
        z = torch.where(y > 0, F.silu(y), F.elu(y)) + F.hardswish(y) * F.softplus(y) + F.mish(y)
        z = F.pad(z, (1, 2), value=0.5)[:, :, 1:-2].flip(2).roll(1, 2)
        n = (
            torch.norm(z, dim=1, keepdim=True)
            + z.std(2, keepdim=True)
            + torch.logsumexp(z, 1, keepdim=True)
        )
        return (
            z / (n + 1e-3),
            z.cumsum(2),
            z.argmax(1),
            F.normalize(z, dim=1),
            z.repeat(1, 2, 1)[:, ::3],
            torch.tril(z),
        )


def image(n=2, size=32):
    return torch.randn(n, 3, size, size)


def ids(n=2, t=6):
    return torch.randint(0, 50, (n, t))


# name -> (model, arguments, other arguments, dynamic axes of each argument)
BATCH = {0: "n"}
TEXT = {0: "n", 1: "t"}
CASES = {
    "resnet basic": (lambda: ResNet(Basic), lambda k: (image(2 + k),), (BATCH,)),
    "resnet bottleneck": (lambda: ResNet(Bottleneck), lambda k: (image(2 + k),), (BATCH,)),
    "vgg": (vgg, lambda k: (image(2 + k),), (BATCH,)),
    "mobilenet v2": (lambda: mobile(nn.ReLU6), lambda k: (image(2 + k),), (BATCH,)),
    "mobilenet v3": (
        lambda: mobile(nn.Hardswish, nn.Hardsigmoid()),
        lambda k: (image(2 + k),),
        (BATCH,),
    ),
    "efficientnet": (lambda: mobile(nn.SiLU, nn.Sigmoid()), lambda k: (image(2 + k),), (BATCH,)),
    "densenet": (DenseNet, lambda k: (image(2 + k),), (BATCH,)),
    "unet": (UNet, lambda k: (image(2 + k, 32 + 8 * k),), ({0: "n", 2: "h", 3: "w"},)),
    "vit": (ViT, lambda k: (image(2 + k),), (BATCH,)),
    "bert": (
        Bert,
        lambda k: (ids(2 + k, 6 + k), ids(2 + k, 6 + k) % 2, (ids(2 + k, 6 + k) > 5).long()),
        (TEXT, TEXT, TEXT),
    ),
    "gpt2": (GPT2, lambda k: (ids(2 + k, 6 + k),), (TEXT,)),
    "manual attention": (Manual, lambda k: (torch.randn(2 + k, 6 + k, 16),), (TEXT,)),
    "lstm": (lambda: Recurrent(nn.LSTM), lambda k: (ids(2 + k, 6),), (BATCH,)),
    "lstm both ways": (
        lambda: Recurrent(nn.LSTM, bidirectional=True),
        lambda k: (ids(2 + k, 6),),
        (BATCH,),
    ),
    "gru": (lambda: Recurrent(nn.GRU), lambda k: (ids(2 + k, 6),), (BATCH,)),
    "rnn": (lambda: Recurrent(nn.RNN), lambda k: (ids(2 + k, 6),), (BATCH,)),
    "detector": (Detector, lambda k: (image(2 + k),), (BATCH,)),
    "mixed": (Mixed, lambda k: (torch.randn(2 + k, 6, 9),), (BATCH,)),
}


def make(name):
    """The model in eval mode, with statistics unlike those at the start, and two sets of arguments."""
    torch.manual_seed(0)
    model, args, axes = CASES[name]
    made = model().eval()
    for key, buffer in made.named_buffers():
        if "running" in key:
            buffer.add_(torch.rand(buffer.shape) * 0.2)
    return made, args(0), args(1), axes
