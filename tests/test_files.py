"""Files are written whole or not at all; what killed writers leave is removed by the next one, and
nothing of a live one.
"""

import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

import pellucid as torch
from pellucid import _files
from pellucid._files import replacing

posix = pytest.mark.skipif(os.name != "posix", reason="locks and modes of POSIX")


def parts(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(".part"))


def test_the_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "x"
    with replacing(path) as file:
        file.write(b"one")
        assert os.path.samefile(file.name, tmp_path / parts(tmp_path)[0]) and not path.exists()
    assert path.read_bytes() == b"one" and os.listdir(tmp_path) == ["x"]
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(b"two")
        raise ZeroDivisionError
    assert path.read_bytes() == b"one" and os.listdir(tmp_path) == ["x"]


@posix
def test_modes_links_and_long_names(tmp_path):
    old = os.umask(0o027)
    try:
        with replacing(tmp_path / "new"):
            pass
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    finally:
        os.umask(old)
    (tmp_path / "new").chmod(0o604)
    (tmp_path / "link").symlink_to("new")
    with replacing(tmp_path / "link") as file:
        # never more open than the file it replaces
        assert stat.S_IMODE(os.stat(file.name).st_mode) & ~0o604 == 0
        file.write(b"x")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "new").read_bytes() == b"x"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o604
    for name in ("n" * 255, "é" * 127):
        with replacing(tmp_path / name) as file:
            file.write(b"x")
        assert (tmp_path / name).read_bytes() == b"x"
    with replacing("/dev/null") as file:
        file.write(b"x")


@posix
def test_the_umask_of_the_process_is_never_touched(tmp_path, monkeypatch):
    """Another thread's new file would have been writable by everybody for a moment."""
    monkeypatch.setattr(os, "umask", None)
    torch.save(torch.ones(2), tmp_path / "x.pt")
    torch.onnx.export(torch.nn.ReLU(), (torch.ones(2),), tmp_path / "x.onnx")
    torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(2),)), tmp_path / "x.pt2")
    assert sorted(os.listdir(tmp_path)) == ["x.onnx", "x.pt", "x.pt2"]


def saver(path, stop):
    """A process that saves to `path`; `stop` is what it does when the file is written and has not
    got its name yet.
    """
    program = (
        "import os, signal, sys\nimport pellucid as torch\nreal = os.replace\ndef stop(*places):\n"
        f"    {stop}\n    real(*places)\nos.replace = stop\ntorch.save(torch.zeros(3), sys.argv[1])\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@posix
def test_the_next_save_removes_what_killed_ones_left(tmp_path):
    path, mine = tmp_path / "model.pt", tmp_path / "model.pt.mine.part"
    mine.write_text("somebody's file")
    torch.save(torch.ones(2), path)
    first = saver(path, "os.kill(os.getpid(), signal.SIGKILL)")
    first.communicate(timeout=300)
    assert first.returncode == -signal.SIGKILL and torch.load(path).tolist() == [1.0, 1.0]
    (left,) = set(parts(tmp_path)) - {mine.name}
    assert torch.load(tmp_path / left).tolist() == [0.0, 0.0, 0.0]
    torch.save(torch.ones(2), path)
    assert parts(tmp_path) == [mine.name]


@posix
def test_a_live_writer_keeps_its_file(tmp_path):
    path = tmp_path / "model.pt"
    writer = saver(path, "print('written', flush=True); sys.stdin.readline()")
    assert writer.stdout.readline() == "written\n"
    left = parts(tmp_path)
    assert len(left) == 1
    torch.save(torch.ones(2), path)  # another process saves to the same place
    assert torch.load(path).tolist() == [1.0, 1.0] and parts(tmp_path) == left
    writer.communicate("\n", timeout=300)
    assert writer.returncode == 0
    assert torch.load(path).tolist() == [0.0, 0.0, 0.0] and not parts(tmp_path)


def test_threads_that_save_to_one_place(tmp_path):
    path = tmp_path / "x.pt"

    def work(number):
        for _ in range(10):
            torch.save(torch.full((500,), float(number)), path)
            found = torch.load(path)
            assert found.shape == (500,) and (found == found[0]).all()

    failed = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and os.listdir(tmp_path) == ["x.pt"]


@posix
def test_a_cleaner_between_creation_and_lock(tmp_path, monkeypatch):
    """The file that was removed before its writer had locked it is made once more."""
    real, removed = _files.fcntl.flock, []

    def flock(handle, kind):
        if not removed:
            removed.append(parts(tmp_path)[0])
            os.unlink(tmp_path / removed[0])
        return real(handle, kind)

    monkeypatch.setattr(_files.fcntl, "flock", flock)
    with replacing(tmp_path / "x") as file:
        file.write(b"one")
    assert (tmp_path / "x").read_bytes() == b"one" and removed and not parts(tmp_path)


@posix
def test_without_locks_nothing_is_removed(tmp_path, monkeypatch):
    def flock(handle, kind):
        raise OSError("no locks here")

    monkeypatch.setattr(_files.fcntl, "flock", flock)
    left = tmp_path / "x.pellucid-01234567.part"
    left.write_text("perhaps somebody writes it")
    with replacing(tmp_path / "x") as file:
        file.write(b"one")
    assert (tmp_path / "x").read_bytes() == b"one" and left.exists()
