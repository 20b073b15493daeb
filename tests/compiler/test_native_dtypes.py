"""Steps in bfloat16, float16 and float64 are native code, and compute what eager ones compute."""

import math

import pytest

import pellucid as torch
from pellucid import nn

F = torch.nn.functional


def conv():
    layers = (
        nn.Conv2d(2, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.GroupNorm(2, 4),
        nn.Flatten(),
    )
    return nn.Sequential(*layers, nn.Linear(64, 5)), torch.randn(3, 2, 8, 8)


def rows():
    return nn.Sequential(
        nn.Linear(9, 12), nn.LayerNorm(12), nn.GELU(), nn.RMSNorm(12), nn.Linear(12, 5)
    ), torch.randn(3, 9)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 5)

    def forward(self, x):
        return self.out(self.inner(x, x, x, need_weights=False)[0].mean(1))


class Masked(nn.Module):
    """Attention with a mask that leaves the first row nothing to see."""

    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.Linear(8, 24), nn.Linear(8, 5)

    def forward(self, x):
        q, k, v = self.inner(x).reshape(3, 6, 3, 2, 4).permute(2, 0, 3, 1, 4)
        mask = torch.zeros(6, 6, dtype=x.dtype).masked_fill(
            torch.ones(6, 6).triu().bool(), -math.inf
        )
        made = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        made = made + F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(made.transpose(1, 2).flatten(2).mean(1))


class Images(nn.Module):
    """What else is done with images: strides, groups, means of windows, other sizes."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(2, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.up, self.out = nn.ConvTranspose2d(8, 4, 2, 2), nn.Linear(16, 5)

    def forward(self, x):
        x = F.interpolate(F.avg_pool2d(F.relu(self.first(x)), 2), scale_factor=2, mode="bilinear")
        x = F.batch_norm(F.avg_pool2d(self.second(x), 2), None, None, training=True)
        return self.out(F.adaptive_avg_pool2d(self.up(x), 2).flatten(1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTM(6, 8), nn.GRU(8, 7, bidirectional=True)
        self.out = nn.Linear(14, 5)

    def forward(self, x):
        return self.out(self.gru(self.lstm(x)[0])[0][-1])


MODELS = {
    "convolution": conv,
    "rows": rows,
    "attention": lambda: (Attention(), torch.randn(3, 6, 8)),
    "masked attention": lambda: (Masked(), torch.randn(3, 6, 8)),
    "images": lambda: (Images(), torch.randn(3, 2, 16, 16)),
    "recurrent": lambda: (Recurrent(), torch.randn(4, 3, 6)),
}


def called(run):
    """The operations that a compiled function calls from Python."""
    parts = run.versions[-1].code.executables
    items = [item for part in parts for item in part.items if item.kind == "eager"]
    return {i.op for item in items for i in item.instructions}


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.float16, torch.float64], ids=["bfloat16", "float16", "float64"]
)
@pytest.mark.parametrize("name", MODELS)
def test_a_step_is_native(name, dtype):
    found = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model, x = MODELS[name]()
        model, x, y = model.to(dtype), x.to(dtype), torch.tensor([1, 0, 4])

        def step(x, y, model=model):
            loss = F.cross_entropy(model(x), y)
            return loss, *torch.autograd.grad(loss, list(model.parameters()))

        run = torch.compile(step, fullgraph=True) if compiled else step
        run(x, y)
        found.append(run(x, y))
        if compiled:
            assert not called(run)
    for eager, made in zip(*found, strict=True):
        assert made.dtype == eager.dtype == dtype
        # the gradient of a bias before a norm is nothing but rounding
        scale = float(eager.detach().double().abs().max()) + 0.5
        assert (made - eager).abs().max() <= scale * 8 * torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
def test_a_scaler_inside_of_a_step(dtype):
    found = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20, growth_interval=3)
        x, y = torch.randn(8, 8), torch.randint(0, 4, (8,))

        def step(x, y, model=model, optimizer=optimizer, scaler=scaler):
            with torch.autocast("cpu", dtype=dtype):
                loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return loss

        run = torch.compile(step) if compiled else step  # it decides by the values of gradients
        losses = [run(x, y).item() for _ in range(6)]
        found.append((losses, scaler.get_scale()))
        if compiled:
            assert run.versions and run.graph_breaks is None
    (eager, scale), (made, other) = found
    assert scale == other
    assert made == pytest.approx(eager, rel=4 * torch.finfo(dtype).eps)


OTHERS = {
    "draws": lambda x: torch.bernoulli(x.sigmoid()) + torch.randn_like(x) + torch.rand_like(x),
    "drawn in place": lambda x: x.clone().exponential_() + x.clone().bernoulli_(0.3),
    "sums by index": lambda x: (
        x.index_add(0, torch.zeros(40, dtype=torch.int64), x)
        + x.scatter_add(0, torch.arange(40) // 3, x)
        + x.scatter_reduce(0, torch.arange(40) // 4, x, "prod")
        + x.scatter_reduce(0, torch.arange(40) // 4, x, "amax")
    ),
    "normal numbers of each": lambda x: torch.normal(x, x.abs()),
    "normal numbers": lambda x: x.new_empty(37).normal_(1.5, 0.3),
    "a repeated row": lambda x: x[:1].expand(40, 1) @ x[None] + x.expand(3, 40)[0],
    "dropout": lambda x: F.dropout(torch.cat([x, x]), 0.4),
    "a resized image": lambda x: F.interpolate(
        x.reshape(1, 2, 4, 5), scale_factor=2, mode="bilinear"
    ),
}


PYTHON = {"exponential", "bernoulli", "bernoulli_like"}  # draws that have no kernel in two bytes


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, torch.float16, torch.float64], ids=["bfloat16", "float16", "float64"]
)
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_computed_in_float32_stays_as_it_is(name, dtype):
    torch.manual_seed(1)
    x, run = torch.randn(40).to(dtype), torch.compile(OTHERS[name])
    for _ in range(3):
        torch.manual_seed(7)
        made = run(x)
    torch.manual_seed(7)
    if dtype is torch.float64:
        torch.testing.assert_close(made, OTHERS[name](x), rtol=1e-14, atol=1e-14)
    else:
        assert torch.equal(made, OTHERS[name](x))
    assert called(run) <= PYTHON


@pytest.mark.parametrize("kind", ["SGD", "Adam", "RMSprop"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
def test_updates_of_two_byte_floats_are_native(kind, dtype):
    found = []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2)).to(dtype)
        optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.05)
        x = torch.randn(6, 5).to(dtype)

        def step(x, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()

        run = torch.compile(step) if compiled else step
        for _ in range(4):
            run(x)
        found.append([p.detach() for p in model.parameters()])
    assert not called(run)
    for eager, made in zip(*found, strict=True):
        torch.testing.assert_close(made, eager, rtol=4 * torch.finfo(dtype).eps, atol=0.02)


@pytest.mark.parametrize(
    "kernel, stride, padding, dilation, ceil",
    [(2, 2, 0, 1, False), (3, 2, 1, 1, True), (2, 1, 1, 2, False)],
)
@pytest.mark.parametrize("spatial", [(11,), (7, 9), (5, 6, 4)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64])
def test_pools_of_eight_bytes_are_native(dtype, spatial, kernel, stride, padding, dilation, ceil):
    pool = getattr(F, f"max_pool{len(spatial)}d")
    mean = getattr(F, f"adaptive_avg_pool{len(spatial)}d")

    def f(x):
        x = x * 1
        y, places = pool(x, kernel, stride, padding, dilation, ceil_mode=ceil, return_indices=True)
        if not x.is_floating_point():
            return y * 2, places
        z = (y * y).sum() + (mean(x, 1) ** 2).sum()
        (g,) = torch.autograd.grad(z, x)
        return y.detach(), places, z.detach(), g

    compiled = torch.compile(f)
    for k in range(3):
        x = (
            (torch.arange(6.0 * math.prod(spatial)).reshape(2, 3, *spatial) * 7.3 + k)
            .sin()
            .mul(9)
            .to(dtype)
        )
        if dtype is torch.float64:
            x[0, 0, ..., k] = float("nan") if k else -1.0
            x.requires_grad_()
        for a, b in zip(compiled(x), f(x), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12, equal_nan=True)
    items = compiled.versions[0].code.run.items
    assert compiled.versions[0].hits == 2 and not [
        i.instructions[0].op for i in items if i.kind == "eager"
    ]
