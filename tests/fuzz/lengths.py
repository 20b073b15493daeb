"""Compiled functions of sequences that are called at many lengths: branches and loops over sizes, masks,
positions, pads, parts, caches, writes in place. Each call's result, and its gradients, are those of
the eager function.

Some shapes of one program come back, so that code made for one length serves another.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from random import Random
from typing import Any

import pellucid as torch

NEEDS_TORCH = False
KNOWN: dict[str, str] = {}
WIDTH = 4
LINES = (
    "h = h * {f} + torch.arange(h.shape[1], dtype=h.dtype)[None, :, None]",
    "h = h.flip(1) if h.shape[1] > {k} else h * {f}",
    "h = h[:, :{k}]",
    "h = h[:, -{k}:]",
    "h = h[:, ::2]",
    "h = F.pad(h, (0, 0, {a}, {b}))",
    "h = F.pad(h, (0, 0, 0, max(0, {k} - h.shape[1])))",
    "h = torch.cat([cache, h], 1)",
    "h = torch.cat([h, h[:, :1] * {f}], 1)",
    "h = h.reshape(h.shape[0], -1).tanh().reshape(h.shape[0], -1, 4)",
    "h = torch.softmax(h @ h.transpose(1, 2), -1) @ h",
    "h = (h @ h.mT).masked_fill(torch.ones(h.shape[1], h.shape[1]).triu(1).bool(), -9.0).softmax(-1) @ h",
    "h = F.scaled_dot_product_attention(h[:, None], h[:, None], h[:, None], is_causal=True)[:, 0]",
    "h = h + sum(h[:, t] * t for t in range(min(h.shape[1], {k})))[:, None] if h.shape[1] else h",
    "h = h.clone(); h[:, {a}:] = {f}",
    "h = h.clone(); h[:, 1:] = h[:, :-1]",
    "h = h - h.mean(1, keepdim=True)",
    "h = h.cumsum(1) / max(1, h.shape[1])",
    "h = h + h.sum(1, keepdim=True) * {f}",
    "h = h + h.amax(1, keepdim=True) if h.shape[1] else h",
    "h = F.layer_norm(h, (4,), scale, shift)",
    "h = F.gelu(F.linear(h, weight, shift))",
    "h = h + F.embedding(tokens, table).sum(1, keepdim=True) / 9",
    "h = h.transpose(0, 1).contiguous().sin().transpose(0, 1)",
    "h = h / (1 + len(h)) + h.numel() * 1e-3",
    "h = torch.cat(h.chunk(2, 1)[::-1], 1)",
    "h = h.split({k}, 1)[-1]",
    "h = h.repeat(1, 2, 1)",
    "h = h.roll({a}, 1)",
    "h = torch.where(h > 0, h, h.flip(1) * {f})",
    "h = h.index_select(1, torch.arange(h.shape[1] - 1, -1, -1))",
    "h = F.conv1d(h.transpose(1, 2), kernel, padding=1).transpose(1, 2) if h.shape[1] > 2 else h",
    "h = h * (h.shape[1] % 3) + h.shape[1] // 2",
    "h = h.sort(1).values",
    "h = h.var(1, keepdim=True).nan_to_num(0.5) + h",
    "h = h.flatten(0, 1).relu().unflatten(0, (-1, h.shape[1])) if h.shape[1] else h",
    "h = h.unfold(1, 2, 1).sum(-1) if h.shape[1] > 1 else h",
    "h = torch.einsum('bnd,bmd->bnm', h, h)[..., :1] + h",
)


def draw(random: Random) -> dict[str, Any]:
    lines = [
        random.choice(LINES).format(
            f=random.choice((0.5, -1.25, 2.0)),
            k=random.choice((1, 2, 3, 5, 8, 16, 17)),
            a=random.choice((0, 1, 2)),
            b=random.choice((0, 1, 3)),
        )
        for _ in range(random.randint(1, 6))
    ]
    start = random.choice((1, 2, 3, 14, 15, 30))
    lengths = random.choice(
        (
            [start + k for k in range(10)],
            [random.randint(0, 40) for _ in range(10)],
            [random.choice((0, 1, 2, 3, 7, 8, 9, 16, 33, 64)) for _ in range(10)],
        )
    )
    return {
        "lines": lines,
        "lengths": lengths,
        "grows": random.random() < 0.5,
        "batch": random.choice((1, 2, 3)),
        "dtype": random.choice(("float32", "float32", "float64")),
        "backward": random.random() < 0.5,
        "dynamic": random.choice((True, None)),
    }


def smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in ("lines", "lengths"):
        for k in range(len(case[name])):
            if len(case[name]) > 1:
                yield {**case, name: case[name][:k] + case[name][k + 1 :]}
    for name, plain in (("backward", False), ("batch", 1), ("grows", False), ("dtype", "float32")):
        if case[name] != plain:
            yield {**case, name: plain}


def source(case: dict[str, Any]) -> str:
    body = [*case["lines"], "out = h.square().sum()"]
    if case["backward"]:
        body.append("out.backward()")
    return "\n    ".join(["def f(h, cache, tokens):", *body, "return h, out.detach()"])


def made(case: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The function, and its parameters."""
    kind = getattr(torch, case["dtype"])
    names = {"weight": (4, 4), "scale": (4,), "shift": (4,), "table": (7, 4), "kernel": (4, 4, 3)}
    torch.manual_seed(1)
    held = {
        name: torch.randn(*shape, dtype=kind, requires_grad=case["backward"])
        for name, shape in names.items()
    }
    space: dict[str, Any] = {"torch": torch, "F": torch.nn.functional, **held}
    exec(compile(source(case), "<lengths>", "exec"), space)
    return space["f"], list(held.values())


def outcome(f: Any, held: list[Any], arguments: list[Any]) -> Any:
    for p in held:
        p.grad = None
    try:
        got = f(*arguments)
    except Exception as error:
        return type(error)
    return [*got, *[p.grad for p in held]]


def run(case: dict[str, Any]) -> str | None:
    eager, held = made(case)
    other, own = made(case)
    compiled = torch.compile(other, dynamic=case["dynamic"])
    kind = getattr(torch, case["dtype"])
    cache = torch.zeros(case["batch"], 0, WIDTH, dtype=kind)
    torch.manual_seed(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in [m for m in case["lengths"] for _ in range(2)]:
            h = torch.randn(case["batch"], n, WIDTH, dtype=kind)
            tokens = torch.randint(0, 7, (case["batch"], n))
            wanted = outcome(eager, held, [h.clone(), cache, tokens])
            found = outcome(compiled, own, [h.clone(), cache, tokens])
            what = differs(wanted, found)
            if what is not None:
                return f"{what}\nlength {n}, cache {cache.shape[1]}\n{source(case)}"
            if case["grows"]:
                cache = torch.cat([cache, torch.randn(case["batch"], 1, WIDTH, dtype=kind)], 1)
    return None


def differs(wanted: Any, found: Any) -> str | None:
    if isinstance(wanted, type) or isinstance(found, type):
        return None if wanted == found else f"error: {wanted!r:.80}, compiled {found!r:.80}"
    for k, (a, b) in enumerate(zip(wanted, found, strict=True)):
        what = "result" if k < 2 else "gradient"
        if a is None or b is None:
            if a is not b:
                return f"{what} that one lacks: {a!r:.80}, compiled {b!r:.80}"
            continue
        if a.shape != b.shape or a.dtype != b.dtype or a.stride() != b.stride():
            return (
                f"{what} of another form: {a.shape} {a.stride()}, compiled {b.shape} {b.stride()}"
            )
        near = 1e-9 if a.dtype == torch.float64 else 2e-4
        finite = a[torch.isfinite(a)].abs()  # NaN and infinities are compared as they are
        most = near * float(1 + finite.amax() if finite.numel() else 1)
        if not torch.allclose(a, b, near, most, True):
            return f"{what} of other values: {a!r:.80}, compiled {b!r:.80}"
    return None
