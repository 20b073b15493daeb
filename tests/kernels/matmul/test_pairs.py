import ctypes
import subprocess
import sys
import textwrap

import ml_dtypes
import numpy as np
import pytest

from pellucid.kernels.matmul import pairs, tiles
from pellucid.llvm import target

BF16 = np.dtype(ml_dtypes.bfloat16)
SIZES = (1, 2, 3, 5, 8, 13, 14, 15, 16, 17, 29, 31, 32, 33, 65, 131)
needs_instruction = pytest.mark.skipif(
    not pairs.available(), reason="a processor without VDPBF16PS"
)

METHODS = [pairs.PAIRS] + [pairs.TILES] * tiles.available()


@pytest.fixture(params=METHODS, ids=lambda how: how.name)
def how(request, monkeypatch):
    """Each method that this processor has."""
    monkeypatch.setattr(pairs, "method", lambda: request.param)
    return request.param


def matrix(rng, rows, columns, batch=()):
    """Numbers in one of the layouts that operands come in."""
    x = rng.standard_normal((*batch, rows, columns)).astype(BF16)
    layout = rng.integers(5)
    if layout == 1:
        return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    if layout == 2:
        wide = np.zeros((*batch, rows, columns + 3), BF16)
        wide[..., 3:] = x
        return wide[..., 3:]
    if layout == 3:
        wide = np.zeros((*batch, columns, rows + 1), BF16)
        wide[..., :-1] = x.swapaxes(-1, -2)
        return wide[..., :-1].swapaxes(-1, -2)
    return x[..., ::-1, :] if layout == 4 else x


def check(got, a, b, bias=0.0):
    """Sums in float32, in any order, rounded once."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    want, size = a @ b + bias, np.abs(a) @ np.abs(b) + 1
    assert got.dtype == BF16
    assert (
        np.abs(got.astype(np.float64) - want)
        <= np.abs(want) * 2**-8 * 1.01 + size * (a.shape[-1] + 4) * 2**-23
    ).all()


@needs_instruction
def test_every_size_and_layout(monkeypatch, thread_count, how):
    monkeypatch.setattr(pairs, "serves", lambda m, k, n: True)
    rng = np.random.default_rng(thread_count)
    for _ in range(150):
        m, n = (int(s) for s in rng.choice(SIZES, 2))
        k = int(rng.choice([*SIZES, 1535, 1537, 3073]))  # the last ones in several passes
        batch = (3,) if rng.random() < 0.3 else ()
        a, b = matrix(rng, m, k, batch), matrix(rng, k, n, batch if rng.random() < 0.5 else ())
        check(pairs.multiply(a, b), a, b)
        if not batch:
            bias = rng.standard_normal(n).astype(BF16)
            check(pairs.linear(a, b.T, bias), a, b, bias.astype(np.float64))
            c = matrix(rng, m, n)
            check(pairs.added(c, a, b), a, b, c.astype(np.float64))
            check(pairs.added(c[:, :1], a, b), a, b, c[:, :1].astype(np.float64))


@needs_instruction
def test_the_number_of_threads_changes_no_bit(how):
    from pellucid.llvm import threads

    rng = np.random.default_rng(0)
    pairs_of = [
        (rng.standard_normal((m, k)).astype(BF16), rng.standard_normal((k, n)).astype(BF16))
        for m, k, n in (
            (300, 700, 500),
            (900, 200, 96),
            (40, 2000, 64),
        )
    ]
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            threads.set_num_threads(count)
            found.append([pairs.multiply(a, b).tobytes() for a, b in pairs_of])
    finally:
        threads.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@needs_instruction
def test_nan_and_infinity_stay_in_their_rows_and_columns(how):
    a, b = np.ones((20, 35), BF16), np.ones((35, 40), BF16)
    a[3, 34], a[7, 2], b[5, 9] = np.nan, np.inf, 0
    made = pairs.multiply(a, b).astype(np.float32)
    assert np.isnan(made[3]).all() and np.isposinf(made[7]).all()
    rest = np.delete(made, [3, 7], 0)
    assert (rest[:, 9] == 34).all() and (np.delete(rest, 9, 1) == 35).all()


def test_products_and_gradients_are_rounded_once():
    """With the instruction or without it: what `matmul` and `linear` give lies as near as bfloat16
    allows.
    """
    import pellucid as torch

    torch.manual_seed(0)
    x, w, c = torch.randn(6, 40, 72), torch.randn(50, 72), torch.randn(50)
    low = [t.bfloat16().requires_grad_() for t in (x, w, c)]
    wide = [t.detach().double().requires_grad_() for t in low]
    seed = torch.randn(6, 40, 50).bfloat16()
    torch.nn.functional.linear(*low).backward(seed)
    torch.nn.functional.linear(*wide).backward(seed.double())
    for a, b in zip(low, wide, strict=True):
        assert a.grad.dtype == torch.bfloat16
        assert (a.grad.double() - b.grad).abs().max() <= b.grad.abs().max() * 2**-8


@needs_instruction
@pytest.mark.parametrize("how", [how.name for how in METHODS])
def test_nothing_is_read_beyond_an_operand(how):
    program = """
        import sys
        sys.path.insert(0, "tests/fuzz")
        import guard, ml_dtypes, numpy as np
        from pellucid.kernels.matmul import pairs

        pairs.serves = lambda m, k, n: True
        pairs.method = lambda: getattr(pairs, HOW)
        for side in (guard.END, guard.FRONT):
            with guard.memory(side):
                for m, k, n in ((1, 1, 1), (15, 33, 17), (3, 7, 65), (40, 31, 3), (13, 1537, 31)):
                    a, b = np.ones((m, k), ml_dtypes.bfloat16), np.ones((k, n), ml_dtypes.bfloat16)
                    for x in (a, np.ones((k, m), a.dtype).T):
                        for y in (b, np.ones((n, k), a.dtype).T):
                            assert (pairs.multiply(x, y).astype(float) == np.array(k).astype(a.dtype).astype(float)).all()
                            del y
                        del x
                    del a, b
            assert guard.damaged() == 0
    """
    program = textwrap.dedent(program).replace("HOW", repr(how.upper()))
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_tiles_are_used_where_the_system_permits_them_and_only_there(monkeypatch):
    permitted = ctypes.c_uint64()
    chosen = pairs.method.__wrapped__()
    if sys.platform == "linux" and "+amx-tile" in target.host().features.split(","):
        ctypes.CDLL(None).syscall(158, 0x1022, ctypes.byref(permitted))
    assert (chosen is pairs.TILES) == bool(permitted.value >> 18 & 1)

    class Refusing:
        def syscall(self, *words):
            return -1

    monkeypatch.setattr(tiles.ctypes, "CDLL", lambda name: Refusing())
    assert not tiles.available.__wrapped__()


@needs_instruction
def test_both_methods_give_the_same_numbers_but_for_the_order_of_sums(monkeypatch):
    """Small integers: sums are exact, in any order."""
    rng = np.random.default_rng(3)
    for m, k, n in ((64, 96, 32), (33, 50, 47), (7, 1600, 90)):
        a, b = (rng.integers(-2, 3, shape).astype(BF16) for shape in ((m, k), (k, n)))
        found = []
        for method in METHODS:
            monkeypatch.setattr(pairs, "method", lambda method=method: method)
            found.append(pairs.multiply(a, b))
        want = (a.astype(np.float64) @ b.astype(np.float64)).astype(BF16)
        assert all((x == want).all() for x in found)
