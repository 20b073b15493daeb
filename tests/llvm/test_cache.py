"""The cache of object code gives back what this user's processes stored, and nothing else: its
content is executed.
"""

import hashlib
import multiprocessing
import os
import stat
import threading
import warnings

import pytest

from pellucid.cli import doctor
from pellucid.llvm import cache, jit

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes of POSIX")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder, of a user whose home is empty too."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("PELLUCID_CACHE_DIR", str(tmp_path / "cache"))
    cache._made.cache_clear()
    cache._default.cache_clear()
    (tmp_path / "home").mkdir()
    yield tmp_path / "cache"
    cache._made.cache_clear()
    cache._default.cache_clear()


def again():
    """As a new process would see it."""
    cache._made.cache_clear()
    cache._default.cache_clear()


def test_what_was_stored_comes_back_with_private_modes(folder, tmp_path):
    cache.store("a", b"code")
    again()
    assert cache.load("a") == b"code"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "a.o").stat().st_mode) == 0o600
    key = next((tmp_path / "home").rglob("key"))
    assert stat.S_IMODE(key.stat().st_mode) == 0o600 and len(key.read_bytes()) == 32
    assert cache.load("b") is None and not list(folder.glob(".new-*"))


def plain_digest(payload):
    return b"pellucid-object-1\n" + hashlib.sha256(payload).digest() + payload


def other_key(payload):
    return cache._MAGIC + cache._code(bytes(32), "a.o", payload) + payload


PLANTED = {
    "a plain digest": lambda good: plain_digest(b"planted"),
    "a plain digest under the new head": lambda good: (
        cache._MAGIC + hashlib.sha256(b"planted").digest() + b"planted"
    ),
    "another key": lambda good: other_key(b"planted"),
    "cut": lambda good: good[:-1],
    "longer": lambda good: good + b"x",
    "one bit": lambda good: good[:-1] + bytes([good[-1] ^ 1]),
    "empty": lambda good: b"",
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_somebody_else_wrote_is_not_loaded(folder, name):
    cache.store("a", b"code")
    path = folder / "a.o"
    path.write_bytes(PLANTED[name](path.read_bytes()))
    assert cache.load("a") is None
    cache.store("a", b"code")
    assert cache.load("a") == b"code"


def test_a_file_is_not_taken_for_another(folder):
    cache.store("a", b"code")
    os.rename(folder / "a.o", folder / "b.o")
    assert cache.load("b") is None
    os.rename(folder / "b.o", folder / "a.host")
    assert cache.load("a", ".host") is None


@pytest.mark.parametrize(
    "kind", ["fifo", "link", "folder", "dangling", "writable by the group", "writable by all"]
)
def test_only_regular_files_that_nobody_else_can_write_are_opened(folder, tmp_path, kind):
    cache.store("a", b"code")
    path = folder / "a.o"
    if kind.startswith("writable"):
        path.chmod(0o620 if "group" in kind else 0o602)
    else:
        path.rename(tmp_path / "elsewhere")
        {
            "fifo": lambda: os.mkfifo(path),
            "link": lambda: path.symlink_to(tmp_path / "elsewhere"),
            "folder": path.mkdir,
            "dangling": lambda: path.symlink_to(tmp_path / "nothing"),
        }[kind]()
    got = []
    reader = threading.Thread(target=lambda: got.append(cache.load("a")), daemon=True)
    reader.start()
    reader.join(20)
    assert got == [None]
    if kind != "folder":
        cache.store("a", b"code")
        assert cache.load("a") == b"code" and not path.is_symlink()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used_and_said_so(folder, mode):
    folder.mkdir()
    folder.chmod(mode)
    with pytest.warns(
        UserWarning,
        match=r"compiled code is not kept: others can write to the folder .*PELLUCID_CACHE_DIR",
    ):
        assert cache.directory() is None
    assert "others can write to" in cache.problem()
    cache.store("a", b"code")
    assert cache.load("a") is None and not list(folder.iterdir())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again()
        report = doctor._cache()
    assert report["location"] is None and "chmod go-w" in report["why"]


def test_the_owner_is_the_user_even_for_root(folder, monkeypatch):
    cache.store("a", b"code")
    again()
    monkeypatch.setattr(cache, "_user", lambda: os.geteuid() + 1)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert cache.directory() is None
    again()
    if os.geteuid() == 0:
        monkeypatch.undo()
        monkeypatch.setenv("PELLUCID_CACHE_DIR", str(folder))
        os.chown(folder / "a.o", 65534, 65534)
        assert cache.load("a") is None
        again()
        os.chown(folder, 65534, 65534)
        with pytest.warns(UserWarning, match="its owner is 65534"):
            assert cache.directory() is None


@pytest.mark.parametrize("damage", ["short", "readable by others", "gone", "fifo"])
def test_a_damaged_key_is_replaced_and_what_it_vouched_for_is_not_loaded(folder, tmp_path, damage):
    cache.store("a", b"code")
    key = next((tmp_path / "home").rglob("key"))
    old = key.read_bytes()
    if damage == "readable by others":
        key.chmod(0o644)
    else:
        key.unlink()
        if damage == "short":
            key.write_bytes(old[:31])
        elif damage == "fifo":
            os.mkfifo(key, 0o600)
    again()
    assert cache.load("a") is None
    cache.store("a", b"code")
    again()
    assert cache.load("a") == b"code"
    assert key.read_bytes() != old and stat.S_IMODE(key.stat().st_mode) == 0o600


def test_without_a_home_the_key_lies_beside_the_files(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "below"))
    cache.store("a", b"code")
    again()
    assert cache.load("a") == b"code" and len((folder / "key").read_bytes()) == 32


def _store_one(number, ready):
    again()
    ready.wait()
    cache.store(str(number), b"code of %d" % number)


def test_processes_that_start_at_once_agree_on_a_key(folder):
    context = multiprocessing.get_context("fork")
    ready = context.Barrier(4)
    running = [context.Process(target=_store_one, args=(n, ready)) for n in range(4)]
    for process in running:
        process.start()
    for process in running:
        process.join(60)
    assert [cache.load(str(n)) for n in range(4)] == [b"code of %d" % n for n in range(4)]


def test_a_cut_file_with_a_right_digest_is_compiled_again(folder, monkeypatch):
    """It crashed while it was loaded."""
    ir = "define i64 @thrice(i64 %x) {\n %y = mul i64 %x, 3\n ret i64 %y\n}\n"

    def compiled():
        monkeypatch.setattr(jit, "_loaded", {})
        before = jit.statistics["compiled"]
        assert jit.compile_ir(ir, {"thrice": "i>i"})["thrice"](14) == 42
        return jit.statistics["compiled"] - before

    assert compiled() == 1 and compiled() == 0
    (path,) = folder.glob("*.o")
    path.write_bytes(plain_digest(path.read_bytes()[len(cache._MAGIC) + 32 :][:300]))
    assert compiled() == 1 and compiled() == 0


def test_doctor_tells_of_the_cache(folder):
    report = doctor._cache()
    assert report["works"] is True and report["location"] == str(folder)
