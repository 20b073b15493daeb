"""Schedules: calls in order, on kept and given memory."""

import numpy as np
import pytest

from pellucid.kernels.matmul import blas
from pellucid.kernels.matmul.product import Product
from pellucid.kernels.pointwise.loop import Access, Loop, PointwiseOp, Write
from pellucid.kernels.schedule import Address, Schedule, share
from pellucid.llvm import jit, target

pytestmark = pytest.mark.skipif(
    not target.available() or not jit.fastcall_works(), reason="no compiler"
)

X = Access("float32", (1,))


def scaled(factor, size=6):
    return Loop(
        (size,),
        (X,),
        (),
        (PointwiseOp("mul", (("in", 0), ("const", factor)), "float32"),),
        (Write(("step", 0), X),),
    )


def given(k, offset=0):
    return Address("given", k, offset)


def test_equal_loops_are_generated_once():
    s = Schedule(given=2)
    middle = Address("kept", s.keep(np.zeros(6, np.float32)))
    for source, out in ((given(0), middle), (middle, middle), (middle, given(1))):
        s.loop(scaled(2.0), [source, out])
    s.loop(scaled(3.0), [given(1), given(1)])
    assert len(s.kernels) == 2
    text = s.text()
    assert text.count("define void @loop0(") == 1 and text.count("call void @loop0(") == 3
    out = np.zeros(6, np.float32)
    s.compile("test")(np.arange(6, dtype=np.float32), out)
    assert out.tolist() == [24.0 * k for k in range(6)]


def test_loops_of_several_schedules_are_compiled_once():
    schedules = [Schedule(given=3) for _ in range(3)]
    for k, s in enumerate(schedules):
        s.loop(scaled(2.0), [given(0), given(2)])
        s.loop(scaled(k + 5.0), [given(2), given(2)])
    share(schedules)
    for k, s in enumerate(schedules):
        text = s.text()
        assert text.count("define void @loop") == 1 and text.count("declare void @loop_") == 1
        out = np.zeros(6, np.float32)
        s.compile("test")(np.arange(6, dtype=np.float32), None, out)
        assert out.tolist() == [2.0 * (k + 5) * i for i in range(6)]


def test_a_function_takes_the_arrays_that_it_uses():
    s = Schedule(given=40)
    s.loop(scaled(3.0), [given(38), given(7)])
    assert "%a38" in s.text() and "%a12" not in s.text()
    arrays = [np.full(6, float(k), np.float32) for k in range(40)]
    s.compile("test")(*arrays)
    assert arrays[7].tolist() == [114.0] * 6 and arrays[12].tolist() == [12.0] * 6


PRODUCTS = [
    (16, 32, 20),
    (16, 4, 32),
    (3, 5, 7),
    (1, 10, 128),
    (2, 1, 9),
    (128, 10, 128),
    (5, 300, 700),
    (4, 32, 16),
    (300, 10, 128),
    (3, 512, 128),
]


@pytest.mark.parametrize("m, n, k", PRODUCTS)
@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("ctype", ["float", "double"])
def test_products(m, n, k, turned, biased, ctype):
    rng, dtype = (
        np.random.default_rng(m * n + k),
        {"float": np.float32, "double": np.float64}[ctype],
    )
    a, b, bias = (rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n), (n,)))
    p = Product(
        m,
        n,
        k,
        (1, m) if "a" in turned else (k, 1),
        (1, k) if "b" in turned else (n, 1),
        n,
        ctype=ctype,
    )
    if p.served() is None:
        pytest.skip("a layout that nobody computes")
    s = Schedule(given=4)
    s.product(p, given(0), given(1), given(2), given(3) if biased else None)
    out = np.full((m, n), np.nan, dtype)
    s.compile("test")(
        np.ascontiguousarray(a.T) if "a" in turned else a,
        np.ascontiguousarray(b.T) if "b" in turned else b,
        out,
        bias,
    )
    expected = a.astype(np.float64) @ b.astype(np.float64) + (bias if biased else 0)
    tolerance = 1e-4 if ctype == "float" else 1e-12
    np.testing.assert_allclose(out, expected, rtol=tolerance, atol=tolerance)


def test_middling_products_of_blas_leave_its_number_of_threads_alone(thread_count):
    library = blas.openblas()
    if library is None:
        pytest.skip("another BLAS")
    s, n = Schedule(given=3), 90
    s.product(
        Product(n, n, n, (n, 1), (n, 1), n, ((3, n * n, 0, n * n),), ctype="double"),
        given(0),
        given(1),
        given(2),
    )
    a, b, out = np.ones((3, n, n)), np.ones((n, n)), np.zeros((3, n, n))
    before = library.get()
    s.compile("test")(a, b, out)
    assert library.get() == before and (out == n).all()


def test_equal_small_products_are_generated_once():
    s = Schedule(given=3)
    p = Product(2, 3, 4, (4, 1), (3, 1), 3)
    for _ in range(3):
        s.product(p, given(0), given(1), given(2))
    assert s.text().count("define internal void @small") == 1


def test_clearing_memory():
    s = Schedule(given=1)
    s.zero(given(0, 8), 12)
    a = np.ones(7, np.float32)
    s.compile("test")(a)
    assert a.tolist() == [1, 1, 0, 0, 0, 1, 1]


def test_a_check_that_fails_ends_the_schedule():
    inside = jit.compile_ir(
        "define i64 @first_is(ptr %p, i64 %n) {\n %v = load i64, ptr %p\n %c = icmp eq i64 %v, %n\n %r = zext i1 %c to i64\n ret i64 %r\n}",
        {"first_is": "ai>i"},
    )["first_is"]
    refused = []
    s = Schedule(given=2)
    s.require(jit.address(inside), [given(0), 5], lambda: refused.append(1))
    s.zero(given(1), 4)
    run = s.compile("test")
    a = np.ones(1, np.float32)
    run(np.array([4]), a)
    assert refused == [1] and a[0] == 1
    run(np.array([5]), a)
    assert refused == [1] and a[0] == 0


def test_variables_become_registers():
    ir = "define i64 @twice(i64 %x) {\n %p = alloca i64\n store i64 %x, ptr %p\n %v = load i64, ptr %p\n %y = add i64 %v, %v\n ret i64 %y\n}"
    assert jit.compile_ir(ir, {"twice": "i>i"})["twice"](21) == 42
