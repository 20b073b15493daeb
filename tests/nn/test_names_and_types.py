"""What type checkers and typing errors see of `nn`: every name by itself, `forward` with any parameters, close names."""

import ast
import inspect
from pathlib import Path

import pytest

import pellucid as torch
from pellucid import nn


def test_every_module_is_imported_by_its_name():
    """A star import between packages that import each other hides the names from mypy."""
    tree = ast.parse(Path(nn.__file__).read_text(encoding="utf-8"))
    names = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert "*" not in {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert {name for name in nn.modules.__all__ if not name.startswith("_")} <= names


def test_forward_is_any_callable_to_type_checkers():
    """As a method `(self, *input)` it would make every `forward(self, x)` of a user an incompatible override."""
    tree = ast.parse(inspect.getsource(nn.Module).lstrip())
    (declared,) = [node for node in ast.walk(tree) if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "forward"]
    assert ast.unparse(declared.annotation) == "Callable[..., Any]"
    with pytest.raises(NotImplementedError, match="missing the required"):
        nn.Module()(1)


@pytest.mark.parametrize(
    ("home", "name", "close"),
    [
        (lambda: torch.nn, "Linaer", "Linear"),
        (lambda: torch.optim, "Adamm", "Adam"),
        (lambda: torch.optim.lr_scheduler, "StepLr", "StepLR"),
        (lambda: torch.utils.data, "Dataloder", "DataLoader"),
        (lambda: torch.nn.functional, "cross_entropi", "cross_entropy"),
    ],
)
def test_close_names_of_what_is_not_there(home, name, close):
    with pytest.raises(
        AttributeError, match=rf"(?s)^module 'torch\.[\w.]+' has no attribute '{name}'\n.*close names: .*\b{close}\b"
    ):
        getattr(home(), name)
    assert not hasattr(home(), name)


def test_hints_for_a_tuple_and_for_no_layers():
    with pytest.raises(TypeError, match=r"recurrent layers.*output, _ = lstm\(x\)"):
        nn.Sequential(nn.LSTM(3, 4), nn.Linear(4, 1))(torch.randn(2, 5, 3))
    with pytest.raises(RuntimeError, match="wants 3 channels"):
        nn.Conv2d(3, 8, 3)(torch.randn(28, 28))
    with pytest.raises(ValueError, match="nn.ModuleList"):
        torch.optim.SGD([], 0.1)


def test_help_has_no_comment_of_the_source():
    assert "----" not in (inspect.getdoc(nn.Module.__getattr__) or inspect.getcomments(nn.Module.__getattr__))
    assert "(out_features, in_features)" in nn.Linear.__doc__
