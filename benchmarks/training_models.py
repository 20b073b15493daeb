"""Models as tutorials and papers' code have them, for any library with PyTorch's API: each function
of `MODELS` takes the library and returns a whole training step and the tensors to call it with.
Sizes are small ones, where what is around the kernels counts.
"""

from __future__ import annotations

import math

import numpy as np


class Data:
    """Arrays that are the same for each library."""

    def __init__(self, lib):
        self.lib, self.rng = lib, np.random.default_rng(0)

    def normal(self, *shape):
        return self.lib.from_numpy(self.rng.standard_normal(shape, np.float32))

    def uniform(self, *shape):
        return self.lib.from_numpy(self.rng.random(shape, np.float32))

    def whole(self, high, *shape):
        return self.lib.from_numpy(self.rng.integers(0, high, shape))

    def mask(self, *shape, p=0.5):
        return self.lib.from_numpy(self.rng.random(shape) < p)

    def lengths(self, rows, length):
        """(rows, length): True behind each row's end."""
        ends = self.rng.integers(length // 2, length + 1, rows)
        return self.lib.from_numpy(np.arange(length)[None, :] >= ends[:, None])


def adam(lib, *modules, lr=1e-3):
    return lib.optim.Adam([p for m in modules for p in m.parameters()], lr=lr)


def trained(optimizer, loss_of):
    """The step that minimizes what `loss_of` gives."""

    def step(*batch):
        optimizer.zero_grad()
        loss = loss_of(*batch)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def perceptron(lib, *sizes, act=None):
    nn, layers = lib.nn, []
    for a, b in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(a, b), (act or nn.ReLU)()]
    return nn.Sequential(*layers[:-1])


# ---- reinforcement learning --------------------------------------------------------------------------
def dqn(lib):
    """Q-learning: the value of the action taken, beside the target network's best one."""
    d, F = Data(lib), lib.nn.functional
    net, target = perceptron(lib, 8, 64, 64, 4), perceptron(lib, 8, 64, 64, 4)

    def loss_of(state, action, reward, following, done):
        values = net(state).gather(1, action.unsqueeze(1)).squeeze(1)
        with lib.no_grad():
            wanted = reward + 0.99 * target(following).max(1)[0] * (1 - done)
        return F.smooth_l1_loss(values, wanted)

    return trained(adam(lib, net), loss_of), (
        d.normal(64, 8),
        d.whole(4, 64),
        d.normal(64),
        d.normal(64, 8),
        d.mask(64).float(),
    )


def ppo(lib):
    """Proximal policy optimization: clipped ratio, value loss and entropy."""
    d, F = Data(lib), lib.nn.functional
    body, actor, critic = (
        perceptron(lib, 8, 64, 64, act=lib.nn.Tanh),
        lib.nn.Linear(64, 4),
        lib.nn.Linear(64, 1),
    )

    def loss_of(state, action, old, advantage, returns):
        h = body(state)
        logp = F.log_softmax(actor(h), dim=-1)
        chosen = logp.gather(1, action.unsqueeze(1)).squeeze(1)
        ratio = (chosen - old).exp()
        policy = -lib.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        entropy = -(logp.exp() * logp).sum(-1).mean()
        return policy + 0.5 * F.mse_loss(critic(h).squeeze(-1), returns) - 0.01 * entropy

    inputs = (d.normal(64, 8), d.whole(4, 64), -d.uniform(64), d.normal(64), d.normal(64))
    return trained(adam(lib, body, actor, critic), loss_of), inputs


def a2c(lib):
    """Advantage actor-critic with `distributions.Categorical`."""
    d = Data(lib)
    actor, critic = perceptron(lib, 8, 64, 4), perceptron(lib, 8, 64, 1)

    def loss_of(state, action, returns):
        dist = lib.distributions.Categorical(logits=actor(state), validate_args=False)
        value = critic(state).squeeze(-1)
        advantage = returns - value
        return (
            (-dist.log_prob(action) * advantage.detach()).mean()
            + advantage.pow(2).mean()
            - 0.01 * dist.entropy().mean()
        )

    return trained(adam(lib, actor, critic), loss_of), (
        d.normal(64, 8),
        d.whole(4, 64),
        d.normal(64),
    )


# ---- words -------------------------------------------------------------------------------------------
def skipgram(lib):
    """Word vectors with negative sampling."""
    d, F = Data(lib), lib.nn.functional
    center, context = lib.nn.Embedding(1000, 64), lib.nn.Embedding(1000, 64)

    def loss_of(word, near, far):
        v = center(word).unsqueeze(2)
        good = lib.bmm(context(near).unsqueeze(1), v).squeeze()
        bad = lib.bmm(context(far).neg(), v).squeeze(2)
        return -(F.logsigmoid(good) + F.logsigmoid(bad).sum(1)).mean()

    inputs = (d.whole(1000, 128), d.whole(1000, 128), d.whole(1000, 128, 5))
    return trained(
        lib.optim.SGD([*center.parameters(), *context.parameters()], lr=0.1), loss_of
    ), inputs


def classifier(lib):
    """`nn.TransformerEncoder` over padded sequences, the mean of what is no padding, dropout."""
    d, nn = Data(lib), lib.nn
    table = nn.Embedding(500, 64, padding_idx=0)
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.1, batch_first=True)
    encoder, head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(64, 5)

    def loss_of(x, padding, y):
        h = encoder(table(x) * 8.0, src_key_padding_mask=padding)
        keep = (~padding).unsqueeze(-1).float()
        return nn.functional.cross_entropy(head((h * keep).sum(1) / keep.sum(1)), y)

    return trained(adam(lib, table, encoder, head), loss_of), (
        d.whole(500, 16, 32),
        d.lengths(16, 32),
        d.whole(5, 16),
    )


def translation(lib):
    """`nn.Transformer` with a causal mask, padding masks and targets that are ignored."""
    d, nn = Data(lib), lib.nn
    source, target = nn.Embedding(100, 64), nn.Embedding(100, 64)
    model = nn.Transformer(64, 4, 1, 1, 128, dropout=0.1, batch_first=True)
    head = nn.Linear(64, 100)
    causal = nn.Transformer.generate_square_subsequent_mask(15)

    def loss_of(x, y, x_padding):
        h = model(
            source(x),
            target(y[:, :-1]),
            tgt_mask=causal,
            src_key_padding_mask=x_padding,
            memory_key_padding_mask=x_padding,
        )
        return nn.functional.cross_entropy(
            head(h).reshape(-1, 100), y[:, 1:].reshape(-1), ignore_index=0
        )

    return trained(adam(lib, source, target, model, head), loss_of), (
        d.whole(100, 16, 20),
        d.whole(100, 16, 16),
        d.lengths(16, 20),
    )


def attention_gru(lib):
    """A decoder step by step with additive attention over padded sources."""
    d, nn, F = Data(lib), lib.nn, lib.nn.functional
    table, encoder, cell = (
        nn.Embedding(50, 32),
        nn.GRU(32, 64, batch_first=True),
        nn.GRUCell(96, 64),
    )
    query, key, score, head = (
        nn.Linear(64, 64),
        nn.Linear(64, 64),
        nn.Linear(64, 1),
        nn.Linear(64, 50),
    )

    def loss_of(x, y, padding):
        memory, h = encoder(table(x))
        h, keys, made = h[0], key(memory), []
        for t in range(6):
            e = (
                score(lib.tanh(query(h).unsqueeze(1) + keys))
                .squeeze(-1)
                .masked_fill(padding, float("-inf"))
            )
            context = lib.bmm(F.softmax(e, dim=1).unsqueeze(1), memory).squeeze(1)
            h = cell(lib.cat([table(y[:, t]), context], dim=1), h)
            made.append(head(h))
        return F.cross_entropy(lib.stack(made, 1).view(-1, 50), y[:, 1:].reshape(-1))

    modules = (table, encoder, cell, query, key, score, head)
    return trained(adam(lib, *modules), loss_of), (
        d.whole(50, 16, 10),
        d.whole(50, 16, 7),
        d.lengths(16, 10),
    )


def smoothing_gpt(lib):
    """A decoder block with a mask made by hand, weights shared with the table, and label smoothing."""
    d, nn, F = Data(lib), lib.nn, lib.nn.functional
    table, places, norm = (
        nn.Embedding(100, 64),
        nn.Parameter(lib.zeros(1, 32, 64)),
        nn.LayerNorm(64),
    )
    qkv, out, feed = (
        nn.Linear(64, 192),
        nn.Linear(64, 64),
        perceptron(lib, 64, 256, 64, act=nn.GELU),
    )
    mask = lib.tril(lib.ones(32, 32)).view(1, 1, 32, 32)

    def loss_of(x, y):
        h = table(x) + places
        q, k, v = (t.view(8, 32, 4, 16).transpose(1, 2) for t in qkv(norm(h)).chunk(3, -1))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(16)
        weights = F.dropout(F.softmax(scores.masked_fill(mask == 0, float("-inf")), dim=-1), 0.1)
        h = h + out((weights @ v).transpose(1, 2).contiguous().view(8, 32, 64))
        return F.cross_entropy(
            (feed(h) @ table.weight.T).view(-1, 100), y.view(-1), label_smoothing=0.1
        )

    return trained(
        lib.optim.AdamW(
            [places, *(p for m in (table, norm, qkv, out, feed) for p in m.parameters())]
        ),
        loss_of,
    ), (
        d.whole(100, 8, 32),
        d.whole(100, 8, 32),
    )


# ---- images ------------------------------------------------------------------------------------------
def wgan_gp(lib):
    """The critic's step: a gradient of a gradient."""
    d = Data(lib)
    critic, net = (
        perceptron(lib, 64, 128, 128, 1, act=lambda: lib.nn.LeakyReLU(0.2)),
        perceptron(lib, 16, 128, 64),
    )

    def loss_of(real):
        fake = net(lib.randn(real.size(0), 16)).detach()
        alpha = lib.rand(real.size(0), 1)
        mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        (grad,) = lib.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
        penalty = ((grad.norm(2, dim=1) - 1) ** 2).mean()
        return critic(fake).mean() - critic(real).mean() + 10 * penalty

    return trained(adam(lib, critic), loss_of), (d.normal(64, 64),)


def unet(lib, up="interpolate"):
    """Two levels down and up with skip connections; dice and binary cross-entropy."""
    d, nn, F = Data(lib), lib.nn, lib.nn.functional

    def double(a, b):
        return nn.Sequential(
            nn.Conv2d(a, b, 3, padding=1),
            nn.BatchNorm2d(b),
            nn.ReLU(),
            nn.Conv2d(b, b, 3, padding=1),
            nn.ReLU(),
        )

    one, two, three, back2, back1, last = (
        double(1, 8),
        double(8, 16),
        double(16, 32),
        double(48, 16),
        double(24, 8),
        nn.Conv2d(8, 1, 1),
    )
    rise2, rise1 = nn.ConvTranspose2d(32, 32, 2, stride=2), nn.ConvTranspose2d(16, 16, 2, stride=2)

    def rise(x, layer):
        return (
            layer(x)
            if up == "transpose"
            else F.interpolate(
                x, scale_factor=2, mode=up, align_corners=None if up == "nearest" else False
            )
        )

    def loss_of(x, y):
        a = one(x)
        b = two(F.max_pool2d(a, 2))
        c = three(F.max_pool2d(b, 2))
        b = back2(lib.cat([rise(c, rise2), b], 1))
        logits = last(back1(lib.cat([rise(b, rise1), a], 1)))
        p = lib.sigmoid(logits)
        dice = 1 - (2 * (p * y).sum() + 1) / (p.sum() + y.sum() + 1)
        return F.binary_cross_entropy_with_logits(logits, y) + dice

    modules = [one, two, three, back2, back1, last] + ([rise2, rise1] if up == "transpose" else [])
    return trained(adam(lib, *modules), loss_of), (
        d.normal(4, 1, 32, 32),
        d.mask(4, 1, 32, 32).float(),
    )


def segmentation(lib):
    """Classes for each pixel, weighted, with pixels that are ignored; strided convolutions and one
    resize to the image's size.
    """
    d, nn, F = Data(lib), lib.nn, lib.nn.functional
    body = nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(32, 5, 1),
    )
    weight = lib.tensor([1.0, 2.0, 1.0, 0.5, 1.5])

    def loss_of(x, y):
        logits = F.interpolate(body(x), size=x.shape[-2:], mode="bilinear", align_corners=False)
        return F.cross_entropy(logits, y, weight=weight, ignore_index=4)

    return trained(adam(lib, body), loss_of), (d.normal(4, 3, 32, 32), d.whole(5, 4, 32, 32))


def mobile(lib):
    """Depthwise separable convolutions, batch normalization, hardswish, squeeze and excitation."""
    d, nn, F = Data(lib), lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self, a, b, stride):
            super().__init__()
            self.deep = nn.Conv2d(a, a, 3, stride, 1, groups=a, bias=False)
            self.n1, self.n2 = nn.BatchNorm2d(a), nn.BatchNorm2d(b)
            self.squeeze, self.excite = nn.Conv2d(a, a // 4, 1), nn.Conv2d(a // 4, a, 1)
            self.point = nn.Conv2d(a, b, 1, bias=False)

        def forward(self, x):
            x = F.hardswish(self.n1(self.deep(x)))
            x = x * F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(x, 1)))))
            return F.relu6(self.n2(self.point(x)))

    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1),
        Block(16, 32, 1),
        Block(32, 64, 2),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(1024, 10),
    )
    return trained(adam(lib, model), lambda x, y: F.cross_entropy(model(x), y)), (
        d.normal(8, 3, 32, 32),
        d.whole(10, 8),
    )


def group_resnet(lib):
    """Residual blocks with group normalization, a stem with overlapping max pooling, average
    pooling in the shortcut.
    """
    d, nn, F = Data(lib), lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.c1, self.c2 = (
                nn.Conv2d(a, b, 3, 2, 1, bias=False),
                nn.Conv2d(b, b, 3, 1, 1, bias=False),
            )
            self.n1, self.n2 = nn.GroupNorm(4, b), nn.GroupNorm(4, b)
            self.short = nn.Sequential(nn.AvgPool2d(2), nn.Conv2d(a, b, 1, bias=False))

        def forward(self, x):
            return F.relu(self.n2(self.c2(F.relu(self.n1(self.c1(x))))) + self.short(x))

    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1),
        nn.InstanceNorm2d(16, affine=True),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
        Block(16, 32),
        Block(32, 64),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 10),
    )
    return trained(adam(lib, model), lambda x, y: F.cross_entropy(model(x), y)), (
        d.normal(8, 3, 32, 32),
        d.whole(10, 8),
    )


def vae(lib):
    """A convolutional variational autoencoder with transposed convolutions."""
    d, nn, F = Data(lib), lib.nn, lib.nn.functional
    encoder = nn.Sequential(
        nn.Conv2d(1, 16, 4, 2, 1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 4, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(1568, 32),
    )
    grow = nn.Linear(16, 1568)
    decoder = nn.Sequential(
        nn.ConvTranspose2d(32, 16, 4, 2, 1),
        nn.ReLU(),
        nn.ConvTranspose2d(16, 1, 4, 2, 1),
        nn.Sigmoid(),
    )

    def loss_of(x):
        mean, log_var = encoder(x).chunk(2, 1)
        z = mean + lib.randn_like(mean) * (0.5 * log_var).exp()
        made = decoder(grow(z).view(-1, 32, 7, 7))
        kl = -0.5 * lib.sum(1 + log_var - mean.pow(2) - log_var.exp())
        return F.binary_cross_entropy(made, x, reduction="sum") + kl

    return trained(adam(lib, encoder, grow, decoder), loss_of), (d.uniform(16, 1, 28, 28),)


# ---- similarity --------------------------------------------------------------------------------------
def simclr(lib):
    """InfoNCE over two views: normalized products without the diagonal."""
    d, F = Data(lib), lib.nn.functional
    net = perceptron(lib, 64, 128, 32)

    def loss_of(a, b):
        z = F.normalize(lib.cat([net(a), net(b)]), dim=1)
        n = a.size(0)
        scores = z @ z.T / 0.5
        scores = scores.masked_fill(lib.eye(2 * n, dtype=lib.bool), float("-inf"))
        wanted = lib.cat([lib.arange(n, 2 * n), lib.arange(n)])
        return F.cross_entropy(scores, wanted)

    return trained(adam(lib, net), loss_of), (d.normal(32, 64), d.normal(32, 64))


def clip(lib):
    """Two towers, a learned temperature, both directions."""
    d, nn, F = Data(lib), lib.nn, lib.nn.functional
    image, text, scale = (
        perceptron(lib, 64, 128, 32),
        nn.EmbeddingBag(500, 32, mode="mean"),
        nn.Parameter(lib.tensor(2.6)),
    )

    def loss_of(x, words):
        a, b = image(x), text(words)
        a, b = a / a.norm(dim=-1, keepdim=True), b / b.norm(dim=-1, keepdim=True)
        logits = scale.exp() * a @ b.t()
        wanted = lib.arange(x.size(0))
        return (F.cross_entropy(logits, wanted) + F.cross_entropy(logits.t(), wanted)) / 2

    optimizer = lib.optim.Adam([*image.parameters(), *text.parameters(), scale])
    return trained(optimizer, loss_of), (d.normal(64, 64), d.whole(500, 64, 8))


def triplet(lib):
    """A siamese network: triplet margin loss, and cosine embedding loss."""
    d, F = Data(lib), lib.nn.functional
    net = perceptron(lib, 64, 128, 32)

    def loss_of(a, b, c):
        a, b, c = net(a), net(b), net(c)
        return (
            F.triplet_margin_loss(a, b, c, margin=1.0)
            + (1 - F.cosine_similarity(a, b)).mean()
            + F.pairwise_distance(a, b).mean()
        )

    return trained(adam(lib, net), loss_of), (d.normal(64, 64), d.normal(64, 64), d.normal(64, 64))


def distilled(lib):
    """A student and a teacher: the divergence of softened outputs beside the labels' loss."""
    d, F = Data(lib), lib.nn.functional
    student, teacher = perceptron(lib, 64, 64, 10), perceptron(lib, 64, 256, 10)

    def loss_of(x, y):
        made = student(x)
        with lib.no_grad():
            wanted = F.softmax(teacher(x) / 4, dim=1)
        soft = F.kl_div(F.log_softmax(made / 4, dim=1), wanted, reduction="batchmean") * 16
        return 0.7 * soft + 0.3 * F.cross_entropy(made, y)

    return trained(adam(lib, student), loss_of), (d.normal(64, 64), d.whole(10, 64))


# ---- graphs ------------------------------------------------------------------------------------------
def gcn(lib):
    """Two graph convolutions over an edge list, with `index_add_`; the loss over nodes that a list
    names.
    """
    d, nn, F = Data(lib), lib.nn, lib.nn.functional
    one, two = nn.Linear(32, 32), nn.Linear(32, 7)

    def spread(x, source, target, weight):
        return lib.zeros(200, x.size(1)).index_add_(0, target, x[source] * weight.unsqueeze(1))

    def loss_of(x, source, target, weight, known, y):
        h = F.dropout(F.relu(spread(one(x), source, target, weight)), 0.5)
        return F.nll_loss(
            F.log_softmax(spread(two(h), source, target, weight), dim=1)[known], y[known]
        )

    inputs = (
        d.normal(200, 32),
        d.whole(200, 1000),
        d.whole(200, 1000),
        d.uniform(1000),
        d.whole(200, 60),
        d.whole(7, 200),
    )
    return trained(adam(lib, one, two), loss_of), inputs


def gat(lib):
    """Graph attention: softmax over each node's edges with scatter_reduce and scatter_add."""
    d, nn, F = Data(lib), lib.nn, lib.nn.functional
    one, a, b, head = nn.Linear(32, 32), nn.Linear(32, 1), nn.Linear(32, 1), nn.Linear(32, 7)

    def loss_of(x, source, target, y):
        h = one(x)
        e = F.leaky_relu(a(h)[source] + b(h)[target], 0.2).squeeze(1)
        top = lib.full((200,), -1e9).scatter_reduce(0, target, e.detach(), reduce="amax")
        e = (e - top.index_select(0, target)).exp()
        total = lib.zeros(200).scatter_add(0, target, e)
        weight = e / (total[target] + 1e-9)
        made = lib.zeros(200, 32).scatter_add(
            0, target.unsqueeze(1).expand(-1, 32), h[source] * weight.unsqueeze(1)
        )
        return F.cross_entropy(head(F.elu(made)), y)

    inputs = (d.normal(200, 32), d.whole(200, 1000), d.whole(200, 1000), d.whole(7, 200))
    return trained(adam(lib, one, a, b, head), loss_of), inputs


# ---- densities, fields, sequences ----------------------------------------------------------------------
def mixture(lib):
    """A mixture density network: log-sum-exp over components."""
    d, F = Data(lib), lib.nn.functional
    net = perceptron(lib, 4, 64, 15, act=lib.nn.Tanh)

    def loss_of(x, y):
        share, mean, log_std = net(x).chunk(3, dim=1)
        logp = -0.5 * ((y - mean) / log_std.exp()) ** 2 - log_std - 0.5 * math.log(2 * math.pi)
        return -lib.logsumexp(F.log_softmax(share, dim=1) + logp, dim=1).mean()

    return trained(adam(lib, net), loss_of), (d.normal(128, 4), d.normal(128, 1))


def nerf(lib):
    """A radiance field: positional encoding, a perceptron over samples of rays, compositing with a
    running product.
    """
    d, F = Data(lib), lib.nn.functional
    net = perceptron(lib, 39, 64, 64, 4)
    bands = 2.0 ** lib.arange(6)

    def loss_of(origin, direction, wanted):
        depth = lib.linspace(0.1, 1.0, 16).expand(64, 16) + 0.05 * lib.rand(64, 16)
        points = origin.unsqueeze(1) + direction.unsqueeze(1) * depth.unsqueeze(-1)
        angles = (points.unsqueeze(-1) * bands).flatten(-2)
        made = net(lib.cat([points, angles.sin(), angles.cos()], -1))
        alpha = 1 - lib.exp(-F.relu(made[..., 3]) * 0.05)
        through = lib.cumprod(lib.cat([lib.ones(64, 1), 1 - alpha + 1e-10], -1), -1)[:, :-1]
        color = ((alpha * through).unsqueeze(-1) * lib.sigmoid(made[..., :3])).sum(1)
        return F.mse_loss(color, wanted)

    return trained(adam(lib, net), loss_of), (d.normal(64, 3), d.normal(64, 3), d.uniform(64, 3))


def experts(lib):
    """A mixture of experts, the two best of four for each row, with a loss that balances them."""
    d, nn, F = Data(lib), lib.nn, lib.nn.functional
    gate, head = nn.Linear(32, 4), nn.Linear(32, 10)
    layers = nn.ModuleList(perceptron(lib, 32, 64, 32) for _ in range(4))

    def loss_of(x, y):
        scores = F.softmax(gate(x), dim=-1)
        best, which = scores.topk(2, dim=-1)
        weights = lib.zeros_like(scores).scatter(1, which, best / best.sum(-1, keepdim=True))
        made = lib.stack([layer(x) for layer in layers], dim=1)
        h = lib.einsum("be,beh->bh", weights, made)
        load = F.one_hot(which[:, 0], 4).float().mean(0)
        return F.cross_entropy(head(h), y) + 0.01 * (load * scores.mean(0)).sum() * 4

    return trained(adam(lib, gate, head, layers), loss_of), (d.normal(128, 32), d.whole(10, 128))


def tcn(lib):
    """Dilated causal convolutions over time, weight normalized."""
    d, nn, F = Data(lib), lib.nn, lib.nn.functional
    norm = nn.utils.parametrizations.weight_norm
    layers = nn.ModuleList(
        norm(nn.Conv1d(8 if k == 0 else 16, 16, 3, dilation=2**k)) for k in range(3)
    )
    head = nn.Linear(16, 4)

    def loss_of(x, y):
        for k, layer in enumerate(layers):
            x = F.dropout(F.relu(layer(F.pad(x, (2 * 2**k, 0)))), 0.1)
        return F.huber_loss(head(F.avg_pool1d(x, 4)[:, :, -1]), y)

    return trained(adam(lib, layers, head), loss_of), (d.normal(16, 8, 64), d.normal(16, 4))


def realnvp(lib):
    """Affine couplings with masks."""
    d, nn = Data(lib), lib.nn
    nets = nn.ModuleList(perceptron(lib, 2, 32, 4, act=nn.Tanh) for _ in range(4))
    masks = lib.tensor([[1.0, 0.0], [0.0, 1.0]] * 2)

    def loss_of(x):
        total = 0.0
        for net, mask in zip(nets, masks, strict=True):
            s, t = net(x * mask).chunk(2, 1)
            s, t = lib.tanh(s) * (1 - mask), t * (1 - mask)
            x, total = x * s.exp() + t, total + s.sum(1)
        return -(-0.5 * (x**2).sum(1) - math.log(2 * math.pi) + total).mean()

    return trained(adam(lib, nets), loss_of), (d.normal(128, 2),)


def ranking(lib):
    """Scores of pairs that a user saw: weighted binary cross-entropy, running sums over sorted
    scores, spans of positions.
    """
    d, nn, F = Data(lib), lib.nn, lib.nn.functional
    user, thing = nn.Embedding(200, 16), nn.Embedding(300, 16)

    def loss_of(who, what, seen, weight):
        scores = (user(who).unsqueeze(1) * thing(what)).sum(-1)
        pair = F.binary_cross_entropy_with_logits(
            scores, seen, weight=weight, pos_weight=lib.tensor(3.0)
        )
        ordered, place = scores.sort(dim=1, descending=True)
        likelihood = ordered - ordered.flip(1).logcumsumexp(1).flip(1)
        return (
            pair - 0.1 * likelihood.mean() + 0.01 * seen.gather(1, place).cumsum(1).float().mean()
        )

    inputs = (d.whole(200, 64), d.whole(300, 64, 10), d.mask(64, 10).float(), d.uniform(64, 10))
    return trained(adam(lib, user, thing), loss_of), inputs


def sac(lib):
    """Soft actor-critic: squashed normal policy, two critics, the least of both."""
    d, F = Data(lib), lib.nn.functional
    actor, one, two = (
        perceptron(lib, 8, 64, 4),
        perceptron(lib, 10, 64, 1),
        perceptron(lib, 10, 64, 1),
    )

    def loss_of(state, action, wanted):
        mean, log_std = actor(state).chunk(2, -1)
        normal = lib.distributions.Normal(mean, log_std.clamp(-5, 2).exp(), validate_args=False)
        raw = normal.rsample()
        chosen = lib.tanh(raw)
        logp = (normal.log_prob(raw) - lib.log(1 - chosen.pow(2) + 1e-6)).sum(-1)
        taken, fresh = lib.cat([state, action], -1), lib.cat([state, chosen], -1)
        critic = F.mse_loss(one(taken).squeeze(-1), wanted) + F.mse_loss(
            two(taken).squeeze(-1), wanted
        )
        return critic + (0.2 * logp - lib.minimum(one(fresh), two(fresh)).squeeze(-1)).mean()

    return trained(adam(lib, actor, one, two), loss_of), (
        d.normal(64, 8),
        d.normal(64, 2),
        d.normal(64),
    )


def vision(lib):
    """Masked patches: those that are kept are gathered, encoded by multi-head attention, and
    scattered among mask tokens.
    """
    d, nn, F = Data(lib), lib.nn, lib.nn.functional
    embed, attention, norm, head = (
        nn.Linear(16, 64),
        nn.MultiheadAttention(64, 4, batch_first=True),
        nn.LayerNorm(64),
        nn.Linear(64, 16),
    )
    token = nn.Parameter(lib.zeros(1, 1, 64))

    def loss_of(x):
        order = lib.rand(8, 16).argsort(dim=1)
        keep = order[:, :8]
        h = lib.gather(embed(x), 1, keep.unsqueeze(-1).repeat(1, 1, 64))
        h = norm(h + attention(h, h, h, need_weights=False)[0])
        h = token.expand(8, 16, 64).scatter(1, keep.unsqueeze(-1).expand(-1, -1, 64), h)
        return F.l1_loss(head(h), x)

    optimizer = lib.optim.AdamW(
        [token, *(p for m in (embed, attention, norm, head) for p in m.parameters())]
    )
    return trained(optimizer, loss_of), (d.normal(8, 16, 16),)


MODELS = {
    "dqn": dqn,
    "ppo": ppo,
    "a2c": a2c,
    "sac": sac,
    "skipgram": skipgram,
    "classifier": classifier,
    "translation": translation,
    "attention_gru": attention_gru,
    "smoothing_gpt": smoothing_gpt,
    "wgan_gp": wgan_gp,
    "unet_nearest": lambda lib: unet(lib, "nearest"),
    "unet_bilinear": lambda lib: unet(lib, "bilinear"),
    "unet_transpose": lambda lib: unet(lib, "transpose"),
    "segmentation": segmentation,
    "mobile": mobile,
    "group_resnet": group_resnet,
    "vae": vae,
    "simclr": simclr,
    "clip": clip,
    "triplet": triplet,
    "distilled": distilled,
    "gcn": gcn,
    "gat": gat,
    "mixture": mixture,
    "nerf": nerf,
    "experts": experts,
    "tcn": tcn,
    "realnvp": realnvp,
    "ranking": ranking,
    "vision": vision,
}
