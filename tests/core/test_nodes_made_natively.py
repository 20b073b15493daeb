"""Nodes made in native code have what those made in Python have, and no reference is kept too many or
too few.
"""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

import pellucid as torch
from pellucid import config
from pellucid.core import callers, source
from pellucid.core.primitive import PRIMITIVES
from pellucid.core.tape import Node, node_type, numbers
from pellucid.core.tensor import Tensor, VersionCounter
from pellucid.kernels import nodes
from pellucid.llvm import jit, target

SLOTS = ("op", "params", "plan", "inputs", "saved", "guard", "total", "ext", "code", "lasti")


@pytest.fixture(scope="module")
def ways():
    """The function in Python, and the native one."""
    if not (target.available() and jit.fastcall_works()):
        pytest.skip("no native code")
    torch.ones(3).exp().sum()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nodes, "MANY", 0)
        patch.setitem(jit.statistics, "loaded", 1)
        made = []
        python = nodes.recording(
            Node, Tensor, config, numbers, source._library, source.user_frame, made.append
        )
        python(*given(np.ones(2)))
        patch.setattr(nodes, "MANY", sys.maxsize)
        yield python, made[0]


def given(r):
    op = PRIMITIVES["neg"]
    x = torch.ones(2, requires_grad=True)
    guard = VersionCounter()
    return node_type(op), op, {"dim": 1}, op.plan((True,)), (x,), (x._array,), guard, 3, r, None


def library(record, *args):
    """As the recorder and the caller of an operation call it."""
    text = "def recorder(record, args):\n    return record(*args)\ndef caller(record, args):\n    return recorder(record, args)"
    names = {}
    exec(compile(text, source.PACKAGE + "made.py", "exec"), names)
    source.is_library(source.PACKAGE + "made.py"), source.is_library(__file__)
    return names["caller"](record, args)


def test_programs_use_the_native_function(ways, monkeypatch):
    assert type(ways[1]) is type(len)
    monkeypatch.setattr(callers, "record", ways[1])
    x = torch.ones(3, requires_grad=True)
    y = (x * 2).cumsum(0).max(0)[0]
    assert y.grad_fn.line.text == "y = (x * 2).cumsum(0).max(0)[0]"
    (y * x.view(3)).sum().backward()
    assert x.grad.tolist() == [12, 12, 12]


def test_nodes_and_tensors_are_the_same(ways):
    args = given(np.ones((2, 3), np.float32))[:-1] + (VersionCounter(),)
    first, second = [library(way, *args) for way in ways]
    for t in (first, second):
        assert type(t) is Tensor and t._rg is True and t._array is args[-2] and t._ver is args[-1]
        assert t._grad is t._view is t._x is None
        assert type(t._node) is args[0] and not hasattr(t, "mark")
        assert t._node.shape == (2, 3) and t._node.dtype is np.dtype(np.float32)
    a, b = first._node, second._node
    assert all(getattr(a, name) is getattr(b, name) or name == "lasti" for name in SLOTS)
    assert a.lasti == b.lasti and a.code.co_filename == __file__
    assert b.seq == a.seq + 1


def test_of_several_arrays_the_node_alone_is_made(ways):
    args = given(None)
    for way in ways:
        node = library(way, *args)
        assert type(node) is args[0] and not hasattr(node, "shape") and node.inputs is args[4]


def test_without_sources_no_line_is_looked_for(ways):
    with config.override(sources=False):
        for way in ways:
            node = library(way, *given(np.ones(2)))._node
            assert node.code is None and node.lasti == 0 and node.line is None


def test_a_file_that_is_not_known_is_looked_at(ways):
    names = {"call": library, "args": given(np.ones(2))}
    for k, way in enumerate(ways):
        exec(compile("t = call(way, *args)", f"unknown{k}.py", "exec"), names | {"way": way}, names)
        assert names["t"]._node.code is not None


def test_references_are_counted(ways):
    for way in ways:
        args = given(np.ones((2, 3)))[:-1] + (VersionCounter(),)
        objects = [x for x in args if type(x) is not int]
        gc.collect()
        before = [sys.getrefcount(x) for x in objects]
        kept = [library(way, *args) for _ in range(100)]
        held = [sys.getrefcount(x) for x in objects]
        assert all(h - b >= 90 for h, b in zip(held, before, strict=True))
        del kept
        assert [sys.getrefcount(x) for x in objects] == before
