"""What type checkers and typing errors see of `nn`: every name by itself, `forward` with any
parameters, close names.
"""

import ast
import inspect
from pathlib import Path

import pytest

import pellucid as torch
from pellucid import nn


def test_every_module_is_imported_by_its_name():
    """A star import between packages that import each other hides the names from mypy."""
    tree = ast.parse(Path(nn.__file__).read_text(encoding="utf-8"))
    names = {
        alias.asname
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert "*" not in {
        alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert {name for name in nn.modules.__all__ if not name.startswith("_")} <= names


def test_forward_is_any_callable_to_type_checkers():
    """As a method `(self, *input)` it would make every `forward(self, x)` of a user an incompatible
    override.
    """
    tree = ast.parse(inspect.getsource(nn.Module).lstrip())
    (declared,) = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "forward"
    ]
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
        AttributeError,
        match=rf"(?s)^module 'torch\.[\w.]+' has no attribute '{name}'\n.*close names: .*\b{close}\b",
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
    assert "----" not in (
        inspect.getdoc(nn.Module.__getattr__) or inspect.getcomments(nn.Module.__getattr__)
    )
    assert "(out_features, in_features)" in nn.Linear.__doc__


class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.module = nn.Linear(3, 2)


def _without_super():
    class M(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(2, 2)

    M()


def _typing_error():
    class M(nn.Module):
        def foward(self, x):
            return x

    M()(torch.ones(1))


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (_without_super, r"super\(\)\.__init__\(\) first"),
        (_typing_error, "method named 'foward'; did you mean forward"),
        (lambda: nn.ModuleList([nn.Linear(1, 1)])(torch.ones(1)), "only holds modules"),
        (
            lambda: torch.optim.Adam(nn.Linear(2, 2).parameters(), learning_rate=0.1),
            r"(?s)^Adam.__init__\(\) got.*called lr$",
        ),
        (
            lambda: torch.optim.SGD(nn.Linear(2, 2).parameters(), 0.1, momentun=0.1),
            "called momentum",
        ),
        (
            lambda: torch.optim.SGD(nn.Linear(2, 2).parameters(), 0.1, zzz=0.1),
            "options are lr, momentum",
        ),
        (lambda: torch.ones(3).cuda(), "device = torch.device"),
        (lambda: nn.Linear(1, 1).cuda(), "device = torch.device"),
        (lambda: torch.ones(3, device="cuda"), "device = torch.device"),
        (lambda: torch.cuda.init(), "device = torch.device"),
        (lambda: torch.tensor([[1, 2], [3]]), "pad_sequence"),
        (lambda: torch.tensor([1, 2], requires_grad=True), "dtype=torch.float32"),
        (lambda: nn.MultiheadAttention(10, 3), "embed_dim=12 would fit 3 heads"),
        (
            lambda: nn.Linear(3, 2).load_state_dict({"module.weight": torch.ones(2, 3)}),
            r"begins with 'module\.'",
        ),
        (
            lambda: Wrapped().load_state_dict(nn.Linear(3, 2).state_dict()),
            r"the model begins with 'module\.'",
        ),
        (lambda: nn.Linear(3, 2).load_state_dict(nn.Linear(4, 2).state_dict()), "other sizes"),
        (lambda: nn.Linear(3, 2).load_state_dict({}), "lacks tensors"),
        (
            lambda: nn.Linear(3, 2, bias=False).load_state_dict(nn.Linear(3, 2).state_dict()),
            "lacks: was it saved",
        ),
        (lambda: nn.Linear(3, 2).load_state_dict({"a": torch.ones(1)}), "other layers or names"),
        (lambda: nn.CrossEntropyLoss()(torch.randn(4, 3), torch.randn(4)), "mse_loss"),
    ],
)
def test_the_classics_have_a_hint(mistake, words):
    with pytest.raises(Exception, match=r"\S") as caught:
        mistake()
    assert caught.match(words)


def test_an_optimizer_is_copied_and_subclassed():
    import copy

    class Own(torch.optim.SGD):
        def __init__(self, params, **kwargs):
            super().__init__(params, **kwargs)

    own = Own(nn.Linear(1, 1).parameters(), lr=0.5)
    assert copy.deepcopy(own).param_groups[0]["lr"] == 0.5
    with pytest.raises(TypeError, match="unexpected keyword argument 'rate'"):
        Own(nn.Linear(1, 1).parameters(), rate=0.5)


def test_static_keys_take_no_bias():
    x, b, static = torch.ones(3, 2, 4), torch.ones(1, 1, 4), torch.ones(4, 5, 2)
    given = (x, x, x, 4, 2, torch.ones(12, 4), torch.zeros(12), b, b, False, 0.0)
    last = (torch.ones(4, 4), torch.zeros(4))
    for name, what in (("static_k", "key"), ("static_v", "value")):
        with pytest.raises(AssertionError, match=f"bias cannot be added to static {what}"):
            torch.nn.functional.multi_head_attention_forward(*given, *last, **{name: static})
