"""`pellucid stand-in`: a distribution called torch that is Pellucid."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pellucid.cli import stand_in

ROOT = Path(__file__).resolve().parents[2]


def python(text, *folders):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env=environment
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for packages, in an environment where there is no other torch."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    return tmp_path


@pytest.fixture
def scripts(tmp_path_factory):
    """A folder for commands."""
    return tmp_path_factory.mktemp("scripts")


def test_it_is_torch_to_programs_and_to_installers(folder, scripts):
    assert "pellucid stand-in remove" in stand_in.install(folder, scripts)
    text = """
import importlib.metadata, importlib.util
assert importlib.util.find_spec("torch") is not None
assert importlib.metadata.version("torch") == "2.13.0+pellucid"
import torch.nn.functional as F, torch
import pellucid
assert torch is pellucid and torch.__version__ >= "2.13"
print(type(F.relu(torch.ones(2))))
"""
    done = python(text, folder, ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "<class 'torch.Tensor'>\n"
    assert stand_in.found() == ("2.13.0+pellucid", folder, True)
    assert sorted(p.name for p in folder.iterdir()) == ["torch", "torch-2.13.0+pellucid.dist-info"]
    listed = (folder / "torch-2.13.0+pellucid.dist-info" / "RECORD").read_text().split(",,\n")
    assert all((folder / name).exists() for name in listed if name)


def test_installing_again_and_removing(folder, scripts):
    stand_in.install(folder, scripts)
    stand_in.install(folder, scripts)
    stand_in.remove(folder, scripts)
    assert list(folder.iterdir()) == list(scripts.iterdir()) == [] and stand_in.found() is None
    with pytest.raises(stand_in.Refused, match="there is no stand-in"):
        stand_in.remove(folder, scripts)


@pytest.mark.skipif(os.name != "posix", reason="scripts with a first line that names Python")
def test_it_brings_torchrun(folder, scripts):
    stand_in.install(folder, scripts)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [scripts / "torchrun", "--help"], capture_output=True, text=True, env=environment
    )
    assert done.stdout.startswith("usage: torchrun"), done.stderr
    stand_in.remove(folder, scripts)
    other = scripts / "torchrun"
    other.write_text("another's")
    stand_in.install(folder, scripts)
    stand_in.remove(folder, scripts)
    assert other.read_text() == "another's"


def test_pytorch_is_left_alone(folder, scripts):
    (folder / "torch").mkdir()
    with pytest.raises(stand_in.Refused, match="is there already"):
        stand_in.install(folder, scripts)
    info = folder / "torch-2.13.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n")
    for refused in (stand_in.install, stand_in.remove):
        with pytest.raises(stand_in.Refused, match="PyTorch"):
            refused(folder, scripts)
    assert (folder / "torch").exists() and info.exists()


def test_without_pellucid_it_says_so(folder, scripts):
    stand_in.install(folder, scripts)
    done = python("import sys; sys.modules['pellucid'] = None; import torch", folder)
    assert (
        "torch is Pellucid's stand-in here, and Pellucid is not installed: pip install pellucid"
        in done.stderr
    )


def test_another_environment_keeps_its_own_torch(folder, scripts, tmp_path_factory):
    stand_in.install(folder, scripts)
    real = tmp_path_factory.mktemp("real")
    (real / "torch").mkdir()
    (real / "torch" / "__init__.py").write_text("import sys; this = sys.modules[__name__]")
    (real / "torch" / "nn.py").write_text("")
    text = "import sys; sys.modules['pellucid'] = None; import torch.nn; print(torch.this is torch)"
    done = python(text, folder, real)
    assert done.stdout == "True\n", done.stderr


def test_the_command(folder, monkeypatch, capsys):
    monkeypatch.setattr(stand_in.sysconfig, "get_path", lambda name: str(folder))
    assert stand_in.main(["install"]) == 0 and stand_in.main(["remove"]) == 0
    assert stand_in.main(["remove"]) == 1
    assert capsys.readouterr().err.startswith("pellucid: there is no stand-in in")
