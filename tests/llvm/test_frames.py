"""The frame of a program's own code: what native code finds is what `sys._getframe` tells."""

from __future__ import annotations

import itertools
import sys

import pytest

from pellucid.llvm import frames, jit, target

OWN = "own.py"
LIBRARY = """
def direct(find, depth):
    return find(depth)

def deeper(find, depth):
    return direct(find, depth)

def by_function_in_c(find, depth):
    return next(map(deeper, (find,), (depth,)))

def by_generator(find, depth):
    return next(deeper(find, depth) for _ in (0,))

class Made:
    def __init__(self, find, depth):
        self.found = find(depth)

    def __neg__(self):
        return self.find(self.depth)

def by_class(find, depth):
    return Made(find, depth).found

def by_operator(find, depth):
    made = Made(lambda depth: None, 1)
    made.find, made.depth = find, depth
    return -made

def calls_back(find, depth, back=None):
    return back(lambda: direct(find, depth))
"""


@pytest.fixture(scope="module")
def pair():
    """The function in Python and the native one, which know the same files."""
    if not (target.available() and jit.fastcall_works()):
        pytest.skip("no native code")
    known = {"library.py": True, OWN: False}
    asked = []
    walk = frames.walker(known, lambda name: asked.append(name) or name == "late.py", print)
    found = frames.finder(walk, known)
    if sys.version_info[:2] not in frames._LAYOUTS:
        assert found is None
        pytest.skip("frames of this version are not known")
    assert found is not None
    return walk, found, asked


def ran(file, text, **names):
    exec(compile(text, file, "exec"), names)
    return names


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize(
    "way", ["direct", "deeper", "by_function_in_c", "by_generator", "by_class", "by_operator"]
)
def test_native_code_finds_the_same_frame(pair, way, depth):
    library = ran("library.py", LIBRARY)
    text = "def call(find):\n    return [find_by(find, depth) for _ in range(30)]\nfound = list(map(call, finds))"
    made = ran(OWN, text, find_by=library[way], depth=depth, finds=pair[:2])["found"]
    assert [f.f_code.co_filename for f in itertools.chain(*made)] == [OWN] * 60
    assert [f.f_lineno for f in made[0]] == [f.f_lineno for f in made[1]]
    assert {f.f_code.co_name for f in made[1]} == {f.f_code.co_name for f in made[0]}


def test_own_code_that_the_library_calls_back_is_the_innermost(pair):
    calls_back = ran("library.py", LIBRARY)["calls_back"]
    text = "def own(run):\n    return run()\nfound = [calls_back(find, 1, own) for find in finds]"
    made = ran(OWN, text, calls_back=calls_back, finds=pair[:2])["found"]
    assert [f.f_code.co_name for f in made] == ["own", "own"]


def test_a_file_that_is_not_known_is_asked_for(pair):
    _, find, asked = pair
    direct = ran("late.py", "def direct(find):\n    return find(1)")["direct"]
    made = ran(OWN, "found = direct(find)", direct=direct, find=find)["found"]
    assert made.f_code.co_filename == OWN and "late.py" in asked


def test_frames_may_begin_where_none_is_left(pair):
    walk, find, _ = pair
    for run in (walk, find):
        with pytest.raises(ValueError, match="call stack is not deep enough"):
            run(10_000)


def test_a_file_that_another_thread_looks_at_meanwhile_is_passed_over():
    class Known(dict):
        def get(self, name):
            found = super().get(name)
            self.setdefault(name, name == "library.py")  # the other thread
            return found

    known = Known()
    walk = frames.walker(known, known.__getitem__, print)
    direct = ran("library.py", LIBRARY)["direct"]
    made = ran(OWN, "found = direct(find, 1)", direct=direct, find=walk)["found"]
    assert made.f_code.co_filename == OWN
