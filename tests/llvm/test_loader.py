"""Object code placed in memory without LLVM, and the processor's description kept beside it."""

import ctypes
import gc
import platform
import struct
import subprocess
import sys
import weakref

import numpy as np
import pytest

from pellucid.kernels.matmul import call
from pellucid.kernels.pointwise import numpys, ufunc
from pellucid.llvm import cache, jit, loader, objects, target

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64" or not target.available(),
    reason="for x86-64 Linux",
)

IR = """
@table = private unnamed_addr constant [4 x double] [double 1.0, double 20.0, double 300.0, double 4000.0], align 32
declare double @cos(double)
define double @helper(double %x) noinline {
  %y = call double @cos(double %x)
  %z = fadd double %y, 0.125
  ret double %z
}
define double @looked_up(i64 %i, double %x) {
  %slot = getelementptr [4 x double], ptr @table, i64 0, i64 %i
  %v = load double, ptr %slot
  %y = call double @helper(double %x)
  %r = fadd double %v, %y
  ret double %r
}
"""


def function(address):
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_double)(address)


@pytest.fixture(scope="module")
def code():
    return jit._object_code(IR)


def test_code_with_constants_calls_and_functions_of_the_c_library_runs(code):
    found = loader.place(code)
    looked_up = function(found["looked_up"])
    assert [looked_up(i, 0.5 * i) for i in range(4)] == [
        v + (np.cos(0.5 * i) + 0.125) for i, v in enumerate((1, 20, 300, 4000))
    ]
    assert set(found) == {"helper", "looked_up"}


def test_both_ways_of_loading_give_the_same(code, monkeypatch):
    ours = function(jit._placed(code, ["looked_up"])["looked_up"])
    monkeypatch.setattr(loader, "place", lambda code: None)
    llvms = function(jit._placed(code, ["looked_up"])["looked_up"])
    assert [ours(i, 0.3) for i in range(4)] == [llvms(i, 0.3) for i in range(4)]


def test_memory_is_not_writable(code):
    address = loader.place(code)["helper"]
    with open("/proc/self/maps") as maps:
        for line in maps:
            low, high = (int(part, 16) for part in line.split()[0].split("-"))
            if low <= address < high:
                assert line.split()[1] == "r-xp"
                return
    raise AssertionError("not mapped")


def test_files_that_are_cut_off_are_left_to_llvm(code):
    for length in [0, 3, 16, 63, 64, 100, *range(128, len(code), 97)]:
        assert loader.place(code[:length]) is None


def changed(code, kind, to):
    """The code with its first relocation of the text made another kind."""
    at = next(
        i
        for i in range(0, len(code) - 24, 8)
        if struct.unpack_from("<I", code, i + 8)[0] == kind
        and 0 < struct.unpack_from("<I", code, i + 12)[0] < 20
    )
    return code[: at + 8] + struct.pack("<I", to) + code[at + 12 :]


def test_what_is_not_known_is_left_to_llvm(code, monkeypatch):
    assert loader.place(changed(code, 1, 37)) is None  # an indirect function
    # another processor's
    assert loader.place(code[:18] + struct.pack("<H", 183) + code[20:]) is None
    assert loader.place(code[:16] + struct.pack("<H", 3) + code[18:]) is None  # a shared library
    assert (
        loader.place(
            jit._object_code(
                "declare void @pellucid_nowhere()\ndefine void @f() {\n call void @pellucid_nowhere()\n ret void\n}"
            )
        )
        is None
    )
    assert (
        loader.place(
            jit._object_code(
                "@counter = global i64 3\ndefine i64 @f() {\n %v = load i64, ptr @counter\n ret i64 %v\n}"
            )
        )
        is None
    )
    monkeypatch.setattr(loader, "_supported", lambda: False)
    assert loader.place(code) is None


def test_where_memory_cannot_be_made_executable_llvm_is_asked(code, monkeypatch):
    class Strict:
        mprotect = staticmethod(lambda *_: -1)
        cos = ctypes.CDLL(None).cos

    monkeypatch.setattr(loader, "_process", Strict)
    kept = len(loader._alive)
    assert loader.place(code) is None and len(loader._alive) == kept


def test_what_the_code_lacks_is_an_error(code):
    with pytest.raises(RuntimeError, match="lacks absent"):
        jit._placed(code, ["helper", "absent"])


PROGRAM = """
import sys
import pellucid as torch
from pellucid.llvm import jit
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.GELU(), torch.nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters())
@torch.compile
def step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
losses = [float(step(torch.randn(64, 20), torch.randint(0, 4, (64,)))) for _ in range(3)]
print(jit.statistics["compiled"], jit.statistics["loaded"], "llvmlite.binding" in sys.modules, losses)
"""


def test_a_process_that_finds_its_code_does_not_load_llvm(tmp_path, monkeypatch):
    monkeypatch.setenv("PELLUCID_CACHE_DIR", str(tmp_path))
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
        ).stdout.split(" ", 3)
        for _ in range(2)
    ]
    assert int(runs[0][0]) > 0 and runs[0][2] == "True"
    assert runs[1][0] == "0" and runs[1][2] == "False" and int(runs[1][1]) > 0
    assert runs[0][3] == runs[1][3]


MANY = """
import sys
import pellucid as torch
from pellucid.llvm import jit
first, second, head, tail = torch.nn.LSTMCell(1, 8), torch.nn.GRUCell(8, 8), torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)
def f(x):
    h = second(first(x)[0])
    return tail(torch.tanh(head(h))).square().mean()
torch.compile(f)(torch.ones(3, 1)).backward()
print(jit.statistics["compiled"])
"""


def test_programs_are_the_same_in_each_process(tmp_path, monkeypatch):
    """Whatever order Python's sets have in it."""
    monkeypatch.setenv("PELLUCID_CACHE_DIR", str(tmp_path))
    compiled = []
    for seed in "01234":
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        compiled.append(
            int(
                subprocess.run(
                    [sys.executable, "-c", MANY], capture_output=True, text=True, check=True
                ).stdout
            )
        )
    assert compiled[0] > 0 and compiled[1:] == [0] * 4


def test_the_processor_is_asked_again_when_it_is_another(tmp_path, monkeypatch):
    monkeypatch.setenv("PELLUCID_CACHE_DIR", str(tmp_path))
    asked = []
    real = target._asked
    monkeypatch.setattr(target, "_asked", lambda: asked.append(1) or real())
    ask = target.host.__wrapped__
    first = ask()
    assert ask() == first == real() and len(asked) == 1
    # as if the system told of another processor
    monkeypatch.setattr(target, "_CPUINFO", target._CPUINFO | {b"processor"})
    assert ask() == first and len(asked) == 2
    monkeypatch.setenv("PELLUCID_VECTOR_BITS", "128")
    assert ask().vector_bits == 128 and len(asked) == 3
    for path in tmp_path.glob("*.host"):
        path.write_bytes(path.read_bytes()[:-1])
    assert ask().vector_bits == 128 and len(asked) == 4


def test_without_a_description_of_the_processor_llvm_tells(tmp_path, monkeypatch):
    monkeypatch.setenv("PELLUCID_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(target, "_CPUINFO", frozenset())
    assert target._description() is None
    assert target.host.__wrapped__() == target._asked()
    assert cache.load("anything", ".host") is None and not list(tmp_path.iterdir())


def test_what_native_code_names_is_never_freed():
    """The collector looks at functions after the modules have lost all they had."""
    held = loader.forever([type("Thing", (), {})()])
    thing = weakref.ref(held[0])
    del held
    gc.collect()
    assert thing() is not None
    for module in (loader, jit, ufunc, numpys, call):
        # the module's, the argument's, and one that nobody gives back
        assert sys.getrefcount(module._alive) > 2
    assert sys.getrefcount(objects._kept) > 2
