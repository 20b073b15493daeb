"""Programs: their text, what the verifier refuses, and the memory plan."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.compiler.passes.memory import ALIGN, lifetimes, plan
from pellucid.ir import Extra, Program, ValueRef, VerificationError
from pellucid.ir.program import Buffer, row_major, substitute


def small():
    p = Program()
    x = p.value(p.buffer("input", 24, "x"), "float32", (2, 3))
    w = p.value(p.buffer("state", 12, "w"), "float32", (3,))
    y = p.value(p.buffer("temp", 24), "float32", (2, 3))
    p.add("mul", (x, w), (y,))
    turned = p.value(y.buffer, "float32", (3, 2), (4, 12))
    total = p.value(p.buffer("temp", 12), "float32", (3,))
    p.add("sum", (turned,), (total,), params={"dim": (1,), "keepdim": False}, phase="backward")
    p.add("copy", (total,), (), kind="copy", writes=(w,), phase="update")
    p.outputs.append(total)
    return p, x, w, y, total


def test_text():
    p, *_ = small()
    p.verify()
    assert str(p) == (
        "program(x: float32[2, 3])\n"
        "  %2: float32[2, 3] = mul(x, w)\n"
        "  -- backward\n"
        "  %3: float32[3] = sum(%2[0; strides 4,12], dim=(1), keepdim=False)\n"
        "  -- update\n"
        "  w <- copy(%3)\n"
        "  return %3"
    )


def test_values():
    p, x, w, y, _ = small()
    part = p.value(x.buffer, "float32", (2, 2), (12, 4), 4)
    assert part.extent() == (4, 24) and not part.whole and x.whole and not x.same_place(part)
    back = p.value(x.buffer, "float32", (2,), (-12,), 12)
    assert back.extent() == (0, 16)
    empty = p.value(x.buffer, "float32", (0, 3))
    assert empty.extent() == (0, 0) and empty.contiguous
    assert row_major((2, 3, 4), 8) == (96, 32, 8)


def test_what_the_verifier_refuses():
    p, x, w, y, total = small()
    unmade = p.value(p.buffer("temp", 4), "float32", (1,))
    p.add("neg", (unmade,), (p.value(p.buffer("temp", 4), "float32", (1,)),))
    with pytest.raises(
        VerificationError, match=r"instruction 3 \(neg\) reads %4, which nothing has made yet"
    ):
        p.verify()
    p, x, *_ = small()
    p.add("neg", (x,), (x,))
    with pytest.raises(VerificationError, match="makes a value in a buffer of kind input"):
        p.verify()
    p, x, w, y, _ = small()
    p.add(
        "neg",
        (p.value(x.buffer, "float32", (7,)),),
        (p.value(p.buffer("temp", 28), "float32", (7,)),),
    )
    with pytest.raises(VerificationError, match="reaches over bytes 0 to 28 of a buffer of 24"):
        p.verify()
    p, *_ = small()
    p.outputs.append(p.value(p.buffer("temp", 4), "float32", (1,)))
    with pytest.raises(VerificationError, match="is never made"):
        p.verify()
    p, x, *_ = small()
    constant = p.value(p.buffer("constant", 24), "float32", (2, 3))
    p.add("copy", (x,), (), kind="copy", writes=(constant,))
    with pytest.raises(VerificationError, match="writes to a constant"):
        p.verify()


def test_references_in_parameters_are_reads():
    p, x, w, y, total = small()
    made = p.value(p.buffer("temp", 24), "float32", (2, 3))
    i = p.add(
        "scatter", (x,), (made,), params={"index": ValueRef(y), "more": [(ValueRef(total), 3)]}
    )
    assert list(i.reads()) == [x, y, total]
    assert substitute(i.params, lambda v: p.name(v)) == {"index": "%2", "more": [("%3", 3)]}
    first = p.instructions[0]
    first.extras = (total,)
    j = p.add("rule", (), (), params={"s": [Extra(first)]})
    assert list(j.reads()) == [total] and substitute(j.params, lambda v: type(v).__name__) == {
        "s": ["Extra"]
    }


@given(
    st.lists(
        st.tuples(st.integers(0, 500), st.integers(0, 12), st.integers(0, 6)),
        min_size=1,
        max_size=30,
    ),
)
def test_living_buffers_never_share_memory(entries):
    lives = {
        Buffer("temp", size, k): (first, first + length)
        for k, (size, first, length) in enumerate(entries)
    }
    offsets, total = plan(lives)
    assert set(offsets) == set(lives)
    for a, (af, al) in lives.items():
        assert offsets[a] % ALIGN == 0 and offsets[a] + a.size <= total
        for b, (bf, bl) in lives.items():
            if a is not b and af <= bl and bf <= al and a.size and b.size:
                assert offsets[a] + a.size <= offsets[b] or offsets[b] + b.size <= offsets[a]


def test_lifetimes():
    p, x, w, y, total = small()
    lives = lifetimes([[i] for i in p.instructions])
    assert lives == {y.buffer: (0, 1), total.buffer: (1, 2)}
    assert lifetimes([p.instructions[:2], p.instructions[2:]], {total.buffer}) == {
        total.buffer: (0, 1)
    }
