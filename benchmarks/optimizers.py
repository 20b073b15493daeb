"""Steps of optimizers over 5, 50 and 500 parameters, and what comes before them: zero_grad,
clip_grad_norm_.

PyTorch takes part with its default (one parameter after the other on a CPU), with `foreach=True`
and, where it has it, `fused=True`.
"""

from __future__ import annotations

import harness

suite = harness.Suite("optimizers")
KINDS = {
    "SGD": {"lr": 0.01},
    "SGD momentum": {"lr": 0.01, "momentum": 0.9},
    "Adam": {},
    "AdamW": {},
    "RMSprop": {},
    "Adagrad": {},
    "Adadelta": {},
    "Adamax": {},
    "NAdam": {},
    "RAdam": {},
    "Rprop": {},
    "ASGD": {},
}
FUSED = {"SGD", "SGD momentum", "Adam", "AdamW", "Adagrad"}


def parameters(lib, count, size):
    lib.manual_seed(0)
    made = [lib.randn(size, requires_grad=True) for _ in range(count)]
    for p in made:
        p.grad = lib.randn(size) * 0.01
    return made


def optimizer(lib, kind, count, size, **way):
    return getattr(lib.optim, kind.split()[0])(parameters(lib, count, size), **KINDS[kind], **way)


for _kind in KINDS:
    for _count, _size in ((5, 64), (5, 100_000), (50, 64), (50, 10_000), (500, 64), (500, 1000)):
        for _way in ({}, {"foreach": True}, *([{"fused": True}] if _kind in FUSED else [])):

            def _theirs(lib, kind=_kind, count=_count, size=_size, way=_way):
                return optimizer(lib, kind, count, size, **way).step

            @suite.case(
                f"{_kind}, {_count} x {_size}, PyTorch's {next(iter(_way), 'default')}",
                target=1.0,
                theirs=_theirs,
            )
            def step(lib, kind=_kind, count=_count, size=_size):
                return optimizer(lib, kind, count, size).step


for _count, _size in ((5, 100_000), (50, 10_000), (500, 64)):

    @suite.case(f"clip_grad_norm_, {_count} x {_size}", target=1.0)
    def clip(lib, count=_count, size=_size):
        made = parameters(lib, count, size)
        return lambda: lib.nn.utils.clip_grad_norm_(made, 1e-3)


if __name__ == "__main__":
    suite.main()
