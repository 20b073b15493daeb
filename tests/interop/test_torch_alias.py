"""`as_torch()` changes the process it runs in, so every test but those of the version number uses a
process of its own.
"""

import subprocess
import sys
import textwrap
import types

import pytest

from pellucid._version import __version__
from pellucid.interop.torch_alias import TORCH_VERSION, TorchVersion

START = "import pellucid.interop\npellucid.interop.as_torch()\n"


def python(text, *, start=START, cwd=None):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", start + textwrap.dedent(text)],
        capture_output=True,
        text=True,
        cwd=cwd,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_spelling_gives_the_same_objects():
    assert python(
        """
        import importlib, sys
        import pellucid, pellucid.datasets as mine
        import torch, torch.datasets, torch.datasets as under_an_alias
        from torch import datasets
        from torch.datasets import load_digits
        assert torch is pellucid
        assert mine is torch.datasets is under_an_alias is datasets is importlib.import_module("torch.datasets")
        assert load_digits is mine.load_digits
        assert sys.modules["torch.datasets"] is sys.modules["pellucid.datasets"]
        assert mine.__spec__.name == mine.__name__ == "pellucid.datasets"
        print("same")
        """
    ) == ["same"]


def test_imported_first_under_the_other_name_it_is_still_one_module():
    assert python(
        """
        import torch.datasets
        import pellucid.datasets
        print(torch.datasets is pellucid.datasets, pellucid.datasets.__spec__.name)
        """
    ) == ["True pellucid.datasets"]


def test_names_imported_first_under_the_other_name_are_those_of_one_module():
    assert python(
        """
        import torch, sys
        from torch.futures import Future
        print(sys.modules["torch.futures"] is sys.modules["pellucid.futures"])
        print(Future is torch.Future is torch.futures.Future)
        """
    ) == ["True", "True"]


def test_calling_twice_changes_nothing():
    assert python(
        """
        import sys
        before = len(sys.meta_path)
        import torch
        print(pellucid.interop.as_torch() is torch, len(sys.meta_path) == before)
        """
    ) == ["True True"]


def test_refused_once_another_torch_is_loaded():
    lines = python(
        """
        import sys, types
        sys.modules["torch"] = types.ModuleType("torch")
        from pellucid.interop import as_torch
        try:
            as_torch()
        except ImportError as error:
            print(error)
        print(sys.modules["torch"].__name__, any("torch_alias" in type(f).__module__ for f in sys.meta_path))
        """,
        start="",
    )
    assert lines[0].startswith("as_torch() came too late: this process has already imported torch")
    assert lines[1] == "torch False"


@pytest.mark.parametrize(
    ("statement", "told", "note"),
    [
        ("import torch.nosuch", "ModuleNotFoundError No module named 'torch.nosuch'", "has no torch.nosuch"),
        ("import torch.datasets.nosuch.x", "ModuleNotFoundError No module named 'torch.datasets.nosuch'", "has no torch.datasets.nosuch"),
        ("import torch._lazy", "ModuleNotFoundError No module named 'torch._lazy'", "has no torch._lazy"),
        ("from torch import nosuch", "ImportError cannot import name 'nosuch' from 'torch' (", "has no torch.nosuch"),
        ("from torch.datasets import load_digit", "ImportError cannot import name 'load_digit' from 'torch.datasets' (",
         "close names: torch.datasets.load_digits"),
        ("import torch; torch.nosuch", "AttributeError module 'torch' has no attribute 'nosuch'", "has no torch.nosuch"),
        ("import torch.datasets; torch.datasets.Load_Digits", "AttributeError module 'torch.datasets' has no attribute 'Load_Digits'",
         "close names: torch.datasets.load_dig"),
        ("import torch.datasets, torch; torch.load_digits", "AttributeError module 'torch' has no attribute 'load_digits'",
         "there is torch.datasets.load_digits"),
        ("import torch.interop; torch.interop.load_dig_its", "AttributeError module 'torch.interop' has no attribute 'load_dig_its'",
         "has no torch.interop.load_dig_its"),
    ],
)  # fmt: skip
def test_a_missing_name_is_told_as_by_pytorch_and_the_note_says_more(statement, told, note):
    first, *notes = python(
        f"""
        import torch.datasets, torch.interop
        try:
            exec({statement!r})
        except Exception as error:
            print(type(error).__name__, error)
            print("\\n".join(error.__notes__))
        """
    )
    assert first.startswith(told)
    assert notes[0].startswith(f"Pellucid {__version__} has no torch")
    assert note in notes[0]


def test_asking_whether_a_name_exists_is_not_an_error():
    assert python(
        """
        import importlib.util
        import torch
        print(hasattr(torch, "nosuch"), getattr(torch, "nosuch", 3), importlib.util.find_spec("torch.nosuch"))
        print(importlib.util.find_spec("torch.datasets") is not None, importlib.util.find_spec("torch") is not None)
        """
    ) == ["False 3 None", "True True"]


def test_versions_as_other_libraries_read_them():
    assert python(
        """
        import importlib.metadata
        import torch
        print(importlib.metadata.version("torch"), importlib.metadata.metadata("torch")["Name"])
        print(torch.__version__, torch.__version__ >= "2.9", torch.__version__.split("+")[0], type(torch.__version__ + "x"))
        print([d.version for d in importlib.metadata.distributions() if d.metadata["Name"] == "torch"][:1])
        """
    ) == [
        f"{TORCH_VERSION} torch",
        f"{TORCH_VERSION} True 2.13.0 <class 'str'>",
        f"[{TORCH_VERSION!r}]",
    ]


def test_other_distributions_are_found_as_before():
    assert python(
        "import importlib.metadata, numpy; print(importlib.metadata.version('numpy') == numpy.__version__)"
    ) == ["True"]


def test_a_library_imported_afterwards_gets_pellucid(tmp_path):
    (tmp_path / "third_party.py").write_text(
        "import torch.datasets\nfrom torch.datasets import load_digits\n"
    )
    assert python(
        """
        import third_party, pellucid.datasets
        print(third_party.load_digits is pellucid.datasets.load_digits)
        """,
        cwd=tmp_path,
    ) == ["True"]


def test_fresh_worker_processes_get_the_aliases(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import multiprocessing
            import torch  # imported again by the new process, before the work begins
            from torch.datasets import load_digits

            def work(number):
                import pellucid
                return number + (torch is pellucid)

            if __name__ == "__main__":
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    print(pool.map(work, [1, 2]))
            """
        )
    )
    done = subprocess.run(
        [sys.executable, "-m", "pellucid", str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (done.stdout, done.returncode) == ("[2, 3]\n", 0), done.stderr


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("2.9", "2.13.0"),
        ("2.13.0", "2.13.0+pellucid0.1.0"),
        ("2.13.0a0", "2.13.0"),
        ("2.13.0.dev20260101", "2.13.0"),
        ((2, 9), "2.13.0"),
        ("1.10.0", "1.10.1"),
    ],
)
def test_version_numbers_are_ordered_by_number(lower, higher):
    version = TorchVersion(higher)
    assert version > lower
    assert version >= lower
    assert version != lower
    assert not version < lower
    assert not version <= lower
    if isinstance(lower, str):
        assert TorchVersion(lower) < higher
        assert TorchVersion(lower) <= higher


def test_version_number_is_an_ordinary_string_otherwise():
    version = TorchVersion("2.13.0")
    assert version == "2.13"
    assert version == (2, 13)
    assert version != 3
    assert version.startswith("2.13")
    assert {version: 1}["2.13.0"] == 1
    assert version != "not a version"
    with pytest.raises(TypeError, match="not supported between"):
        assert version < 3


def test_a_function_with_the_name_of_its_module_stays_a_function():
    assert python(
        """
        import torch
        from torch.autograd.gradcheck import gradcheck
        import torch.autograd.gradcheck as module
        print(callable(torch.autograd.gradcheck), torch.autograd.gradcheck is gradcheck)
        import torch.nn.functional as F
        print(F.grad.conv1d_input is torch.nn.grad.conv1d_input)
        with torch.backends.cudnn.flags(enabled=False, deterministic=True):
            print(torch.backends.cudnn.deterministic)
        print(torch.backends.cudnn.deterministic, torch.autograd.forward_ad._current_level)
        """
    ) == ["True True", "True", "True", "False -1"]


def test_a_module_without_a_file_says_what_it_lacks():
    assert python(
        """
        import types
        from pellucid.interop.torch_alias import _speak_up
        module = types.ModuleType("pellucid.made_up")  # as names that stand for a package of PyTorch's are made
        _speak_up(module)
        print(getattr(module, "__file__", None))
        """
    ) == ["None"]


def test_classes_name_pytorchs_modules():
    assert python(
        """
        import importlib, inspect, pickle, typing
        import torch, torch.utils.data
        print(type(torch.ones(1)), torch.nn.Linear, torch.nn.Parameter, torch.float32.__class__, torch.optim.Adam)
        print(torch.utils.data.DataLoader, torch.optim.lr_scheduler.StepLR, torch.no_grad, torch.autograd.Function)
        for kind in (
            torch.Tensor, torch.nn.Tanh, torch.nn.InstanceNorm1d, torch.nn.MultiheadAttention, torch.utils.data.Dataset, torch.no_grad,
            torch.optim.lr_scheduler.OneCycleLR, torch.distributions.TanhTransform, torch.nn.utils.rnn.PackedSequence, torch.storage.UntypedStorage,
        ):
            assert pickle.loads(pickle.dumps(kind)) is kind, kind
            assert getattr(importlib.import_module(kind.__module__), kind.__name__) is kind, kind
        class Mine(torch.nn.Module):
            size: int
        print(typing.get_type_hints(Mine)["size"], typing.get_type_hints(torch.Tensor) != {})
        print(inspect.getsource(torch.nn.Linear).split("(")[0], b"torch.nn.modules.activation" in pickle.dumps(torch.nn.Tanh()))
        """
    ) == [
        (
            "<class 'torch.Tensor'> <class 'torch.nn.modules.linear.Linear'> <class 'torch.nn.parameter.Parameter'> <class 'torch.dtype'> "
            "<class 'torch.optim.adam.Adam'>"
        ),
        (
            "<class 'torch.utils.data.dataloader.DataLoader'> <class 'torch.optim.lr_scheduler.StepLR'> "
            "<class 'torch.autograd.grad_mode.no_grad'> <class 'torch.autograd.function.Function'>"
        ),
        "<class 'int'> True",
        "class Linear True",
    ]


def test_every_class_is_found_where_it_says_it_is():
    """A pickle names a class by its module, so the module has to have it."""
    assert python(
        """
        import importlib, pickle, pkgutil, sys
        import torch, torch.utils.data
        for package in (torch.utils.data, torch.distributions, torch.nn, torch.optim, torch.autograd, torch.fx):
            home = sys.modules[package.__name__.replace("torch", "pellucid", 1)]
            for each in pkgutil.walk_packages(home.__path__, home.__name__ + "."):
                importlib.import_module(each.name)
        kinds = {
            kind
            for name, module in list(sys.modules.items())
            if name.startswith(("pellucid", "torch")) and module is not None
            for kind in list(vars(module).values())
            if isinstance(kind, type) and kind.__module__.startswith("torch") and kind.__qualname__.isidentifier()
        }
        def lost(kind):
            module = importlib.import_module(kind.__module__)
            return getattr(module, kind.__qualname__, None) is not kind
        print(len(kinds) > 500, sorted(map(str, filter(lost, kinds))))
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(range(3))
        loader = torch.utils.data.DataLoader(Stream())
        print(list(pickle.loads(pickle.dumps(loader))))
        """
    ) == ["True []", "[tensor([0]), tensor([1]), tensor([2])]"]


def test_without_the_alias_classes_name_their_own_modules():
    assert python("import pellucid\nprint(pellucid.nn.Linear.__module__)", start="") == [
        "pellucid.nn.modules.linear"
    ]


def test_a_missing_name_is_searched_for_once(monkeypatch):
    """Libraries ask `hasattr(torch, name)` at each step, and each search took milliseconds."""
    from pellucid.interop.torch_alias import _noted, _sentence

    def said():
        return _noted(AttributeError(), "torch.a_name_that_is_not_there").__notes__

    _sentence.cache_clear()
    first = said()
    monkeypatch.setitem(sys.modules, "a_module_that_a_library_loads_late", types.ModuleType("late"))
    assert said() == first and _sentence.cache_info().misses == 1
