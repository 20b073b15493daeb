"""Small models of the usual kinds, for the exporters."""

import pellucid as torch
from pellucid import nn
from pellucid.nn import functional as F


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(4)
        self.conv2 = nn.Conv2d(4, 4, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(4)

    def forward(self, x):
        return torch.relu(
            self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)), inplace=True))) + x
        )


class GPT(nn.Module):
    """One block, once with the fused attention and once with its parts; the head shares the
    embedding's weight.
    """

    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(11, 16)
        self.place = nn.Embedding(32, 16)
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)
        self.head = nn.Linear(16, 11, bias=False)
        self.head.weight = self.token.weight

    def forward(self, index):
        B, T = index.shape
        x = self.token(index) + self.place(torch.arange(T))
        q, k, v = (
            t.view(B, T, 4, 4).transpose(1, 2) for t in self.qkv(self.norm(x)).split(16, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).contiguous().view(B, T, 16))
        a = (q @ k.transpose(-2, -1)) * 0.5
        a = a.masked_fill(torch.tril(torch.ones(T, T)) == 0, float("-inf")).softmax(-1)
        x = x + (a @ v).transpose(1, 2).reshape(B, T, 16)
        return self.head(x), x[:, -1]


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 16, 4, 4)
        self.cls = nn.Parameter(torch.full((1, 1, 16), 0.1))
        self.place = nn.Parameter(torch.randn(1, 5, 16))
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.place
        return self.head(self.encoder(x)[:, 0])


def mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2))


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, groups=4),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
        nn.Softmax(-1),
    )


def ids(batch, length):
    return torch.arange(batch * length).view(batch, length) * 7 % 11


def cases():
    """name -> (model, arguments, dynamic axes of each argument, arguments of other sizes)"""
    torch.manual_seed(0)
    R = torch.randn
    made = {
        "mlp": (mlp(), (R(2, 4),), ({0: "n"},), (R(5, 4),)),
        "cnn": (cnn(), (R(1, 3, 12, 12),), ({0: "n"},), (R(5, 3, 12, 12),)),
        "residual": (Residual(), (R(2, 4, 6, 6),), ({0: "n", 2: "h", 3: "w"},), (R(3, 4, 9, 7),)),
        "gpt": (GPT(), (ids(2, 5),), ({0: "n", 1: "t"},), (ids(4, 3),)),
        "vit": (ViT(), (R(2, 3, 8, 8),), ({0: "n"},), (R(3, 3, 8, 8),)),
        "lstm": (
            nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True),
            (R(2, 3, 4),),
            ({0: "n", 1: "t"},),
            (R(4, 7, 4),),
        ),
        "gru": (nn.GRU(4, 5), (R(3, 2, 4),), ({0: "t", 1: "n"},), (R(6, 5, 4),)),
        "rnn": (
            nn.RNN(4, 5, nonlinearity="relu", bias=False),
            (R(3, 2, 4),),
            ({0: "t", 1: "n"},),
            (R(6, 5, 4),),
        ),
    }
    for name, (model, *rest) in made.items():
        with torch.no_grad():
            for buffer in model.buffers():
                if buffer.is_floating_point():
                    buffer.add_(0.1)  # statistics unlike those at the start
        yield name, (model.eval(), *rest)


CASES = dict(cases())


def tensors(tree):
    """The tensors in nested results, in order."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    return [
        t for part in (tree.values() if isinstance(tree, dict) else tree) for t in tensors(part)
    ]
