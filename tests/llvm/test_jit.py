import ctypes
import os
import shutil
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from pellucid.llvm import cache, emit, jit

ADD = """
define void @add(ptr %x, i64 %n, double %c) {
  %slot = getelementptr double, ptr %x, i64 %n
  %old = load double, ptr %slot
  %new = fadd double %old, %c
  store double %new, ptr %slot
  ret void
}
define double @null(ptr %x) {
  %is = icmp eq ptr %x, null
  %r = uitofp i1 %is to double
  ret double %r
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PELLUCID_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def unique(ir, tag):
    return f"; {tag}\n{ir}"


def test_arguments_and_results(folder):
    f = jit.compile_ir(ADD, {"add": "aid", "null": "a>d"})
    x = np.zeros(3)
    f["add"](x, 1, 2.5)
    f["add"](x[1:], 1, 1)
    assert x.tolist() == [0, 2.5, 1]
    assert f["null"](None) == 1 and f["null"](x) == 0


def test_wrong_arguments_raise(folder):
    f = jit.compile_ir(ADD, {"add": "aid"})["add"]
    with pytest.raises(TypeError):
        f(np.zeros(1), "0", 1.0)
    with pytest.raises(SystemError):
        f(np.zeros(1), 0)


def test_ctypes_path_agrees(folder, monkeypatch):
    monkeypatch.setattr(jit, "fastcall_works", lambda: False)
    f = jit.compile_ir(unique(ADD, "ctypes"), {"add": "aid", "null": "a>d"})
    x = np.zeros(2)
    f["add"](x, 1, 2.5)
    assert x.tolist() == [0, 2.5] and f["null"](None) == 1


def test_failure_warns_once_and_keeps_the_ir(folder):
    broken = "define void @broken() {\n  %x = add i64 1, 2.0\n  ret void\n}\n"
    with pytest.warns(RuntimeWarning, match="kernel broken could not be compiled") as caught:
        assert jit.compile_ir(broken, {"broken": ""}) is None
    path = str(caught[0].message).rsplit(" ", 1)[1]
    with open(path) as file:
        assert "@broken" in file.read()
    os.unlink(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jit.compile_ir(broken, {"broken": ""}) is None


def compile_fresh(ir, exports):
    """As a new process would: from the disk if it is there."""
    jit._loaded.clear()
    before = dict(jit.statistics)
    functions = jit.compile_ir(ir, exports)
    return (
        functions,
        jit.statistics["compiled"] - before["compiled"],
        jit.statistics["loaded"] - before["loaded"],
    )


def test_cache_is_used_and_damage_is_repaired(folder):
    ir = unique(ADD, "damage")
    assert compile_fresh(ir, {"add": "aid"})[1:] == (1, 0)
    assert compile_fresh(ir, {"add": "aid"})[1:] == (0, 1)
    (file,) = folder.glob("*.o")
    good = file.read_bytes()
    for bad in (
        b"",
        good[:20],
        good[: len(good) // 2],
        good[:-1],
        b"\0" * len(good),
        good[:100] + b"x" + good[101:],
    ):
        file.write_bytes(bad)
        functions, compiled, loaded = compile_fresh(ir, {"add": "aid"})
        assert (compiled, loaded) == (1, 0)
        x = np.zeros(1)
        functions["add"](x, 0, 1.0)
        assert x[0] == 1
        assert file.read_bytes() == good
    assert [f.name for f in folder.glob("*.o")] == [file.name]


def test_cache_is_bounded(folder, monkeypatch):
    monkeypatch.setattr(cache, "CACHE_BYTES", 10_000)
    for i in range(30):
        cache.store(f"{i:02d}", bytes(1000))
        os.utime(folder / f"{i:02d}.o", (i, i))
    names = sorted(f.name for f in folder.glob("*.o"))
    assert sum(f.stat().st_size for f in folder.iterdir()) <= 10_000
    assert names[-1] == "29.o" and len(names) > 5 and "00.o" not in names


def test_a_new_process_lists_the_folder_only_if_no_other_did_lately(folder, monkeypatch):
    listings = []
    trim = cache._trim
    monkeypatch.setattr(cache, "_trim", lambda f: (listings.append(f), trim(f)))
    for name in ("first", "second"):
        monkeypatch.setattr(cache, "_written", None)  # as in a process that has stored nothing
        cache.store(name, bytes(1000))
    assert len(listings) == 1
    hour = time.time() - 3600
    os.utime(folder / "listed", (hour, hour))
    cache.store("third", bytes(1000))  # not the first file of its process
    assert len(listings) == 1
    monkeypatch.setattr(cache, "_written", None)
    cache.store("fourth", bytes(1000))
    assert len(listings) == 2


def test_unusable_cache_folder_costs_nothing_but_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PELLUCID_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert cache.directory() is None
    assert compile_fresh(unique(ADD, "unusable"), {"add": "aid"})[0] is not None


def test_concurrent_processes_share_a_cache(folder):
    program = (
        "import numpy as np\nfrom pellucid.llvm import jit\n"
        f"f = jit.compile_ir({unique(ADD, 'processes')!r}, {{'add': 'aid'}})['add']\n"
        "x = np.zeros(1); f(x, 0, 1.0); assert x[0] == 1\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(3)]
    assert [p.wait() for p in running] == [0, 0, 0]
    assert len(list(folder.glob("*.o"))) == 1


def test_threads_compile_once(folder):
    ir = unique(ADD, "threads")
    found = []
    before = jit.statistics["compiled"]
    workers = [
        threading.Thread(target=lambda: found.append(jit.compile_ir(ir, {"add": "aid"})))
        for _ in range(4)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert jit.statistics["compiled"] == before + 1
    assert all(f is found[0] for f in found)


def test_import_does_not_load_llvm():
    program = (
        "import sys, pellucid.llvm.target, pellucid.llvm.jit, pellucid.llvm.threads\n"
        "assert 'llvmlite' not in sys.modules and 'scipy' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


TWO = """
define i64 @helper(i64 %x) {
  %y = add i64 %x, 1
  ret i64 %y
}
"""


def test_a_library_compiles_what_is_used(folder):
    asked = []

    def build(name):
        asked.append(name)
        return f"define i64 @{name}(i64 %x) {{\n  %y = mul i64 %x, {len(name)}\n  ret i64 %y\n}}\n"

    library = jit.NativeLibrary("parts", build, {"ab": "i>i", "abc": "i>i"})
    before = jit.statistics["compiled"]
    assert library.abc(5) == 15 and library.abc(6) == 18
    assert asked == ["abc"] and jit.statistics["compiled"] == before + 1
    assert library.ab(5) == 10 and asked == ["abc", "ab"]
    with pytest.raises(AttributeError):
        library.abcd


def test_a_library_may_be_compiled_together(folder):
    both = TWO + TWO.replace("helper", "other").replace(", 1", ", 2")
    library = jit.NativeLibrary(
        "whole", lambda: both, {"helper": "i>i", "other": "i>i"}, together=True
    )
    before = jit.statistics["compiled"]
    assert library.helper(1) == 2 and library.other(1) == 3
    assert jit.statistics["compiled"] == before + 1


def test_address_of_what_only_native_code_calls(folder):
    made = jit.compile_ir(unique(TWO, "address only"), {"helper": None})["helper"]
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(made)(41) == 42


def test_a_module_gives_one_function_and_what_it_calls():
    module = emit.Module()
    for name, called in (
        ("first", "second"),
        ("second", "third"),
        ("third", None),
        ("fourth", "third"),
    ):
        f = module.function(name, "double", x="double")
        f.ret(f.call(called, f.x, returns="double") if called else f.sqrt(f.x))
    f = module.function("fifth", "double", x="double")
    f.ret(f.rint(f.x))
    text = module.text("second")
    assert (
        "@second(" in text and "@third(" in text and "declare double @llvm.sqrt.f64(double)" in text
    )
    assert (
        "@first" not in text
        and "@fourth" not in text
        and "@fifth" not in text
        and "rint" not in text
    )
    assert "@fifth" in module.text() and "rint" in module.text()


def test_who_watches_calls_does_not_see_code_being_written(folder):
    seen = []

    def build(name):
        return unique(TWO, "unwatched").replace("helper", name)

    library = jit.NativeLibrary("watched", build, {"helper": "i>i"})
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, arg: seen.append(frame.f_code.co_name))
    try:
        assert library.helper(1) == 2
        inside = sys.getprofile()
    finally:
        sys.setprofile(before)
    assert inside is not None and "build" not in seen and "__getattr__" in seen


def test_code_on_disk_is_found_without_writing_ir(folder, monkeypatch):
    """Kernels whose text takes long to write are found by their names and the package's files."""
    from pellucid.kernels.convolution import lanes as conv_lanes
    from pellucid.kernels.convolution import tiles as conv_kernels
    from pellucid.kernels.convolution import weight as conv_weight
    from pellucid.kernels.convolution import winograd as conv_winograd
    from pellucid.kernels.convolution import winograd_weight as conv_winograd_weight
    from pellucid.kernels.pooling import call as pool
    from pellucid.llvm import emit

    makers = [
        conv_kernels.packing,
        conv_kernels.turning,
        conv_lanes._natives,
        conv_weight.natives,
        conv_winograd._natives,
        conv_winograd_weight._natives,
        pool._natives,
    ]
    for state in ("fresh", "on disk"):
        for make in makers:
            make.cache_clear()
        monkeypatch.setattr(jit, "_loaded", {})
        if state == "on disk":
            monkeypatch.setattr(emit.Module, "text", None)
        assert all(make() is not None for make in makers)


def test_a_cache_folder_that_is_removed_is_made_again(folder):
    cache.store("a", b"one")
    shutil.rmtree(folder)
    assert cache.load("a") is None
    cache.store("b", b"two")
    assert cache.load("b") == b"two"
