import numpy as np

from pellucid.kernels.indexing import transpose


def test_every_order_of_dimensions(monkeypatch, thread_count):
    monkeypatch.setattr(transpose, "LEAST", 1)
    rng, served = np.random.default_rng(thread_count), 0
    for _ in range(300):
        shape = [
            int(n) for n in rng.choice([1, 2, 4, 5, 8, 15, 16, 17, 33, 65, 70], rng.integers(2, 5))
        ]
        while np.prod(shape) > 40000:
            shape[int(rng.integers(len(shape)))] = 2
        kind = rng.choice(["u2", "f2", "f4", "i8", "c8"])
        x = rng.integers(0, 255, shape).astype(kind).transpose(rng.permutation(len(shape)))
        if rng.random() < 0.3:
            x = x[tuple(slice(None, None, int(rng.choice([1, 2, -1]))) for _ in shape)]
        if rng.random() < 0.2:
            x = np.broadcast_to(x[:1], (3, *x.shape[1:]))
        made = transpose.transposed(x)
        if made is not None:
            served += 1
            assert made.flags.c_contiguous and made.dtype == x.dtype and (made == x).all()
    assert served > 40


def test_contiguous_uses_it():
    import pellucid as torch

    x = torch.arange(96 * 80).reshape(96, 80)
    for kind in (torch.float32, torch.bfloat16, torch.int64, torch.complex64, torch.bool):
        y = x.to(kind).t()
        assert y.contiguous().is_contiguous() and torch.equal(y.contiguous(), y)
    images = torch.randn(2, 5, 33, 34)
    turned = images.contiguous(memory_format=torch.channels_last)
    assert torch.equal(turned, images) and torch.equal(turned.contiguous(), images)
