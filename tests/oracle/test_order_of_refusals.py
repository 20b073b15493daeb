"""What is looked at first where several things are wrong: class and text of the error are PyTorch's.

Each of these was found by a fuzzer.
"""

import warnings

import pytest

import pellucid

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

CALLS = """
nn.AdaptiveAvgPool2d(1)(torch.ones(3, 2, 4, 4).long())
nn.AdaptiveAvgPool2d((1, 1))(torch.ones(4, 4).long())
nn.AdaptiveAvgPool1d(1)(torch.ones(3, 2, 4).long())
nn.AdaptiveAvgPool3d(1)(torch.ones(2, 2, 3, 7, 3).bool())
nn.AdaptiveAvgPool2d(1)(torch.ones(0, 2, 4, 4).long())
nn.CrossEntropyLoss()(torch.tensor(1.0), torch.tensor(0))
nn.CrossEntropyLoss()(torch.ones(2, 3, dtype=torch.complex64), torch.ones(2, 3, dtype=torch.complex64))
nn.CrossEntropyLoss()(torch.ones(2, 3), torch.ones(2, 3, dtype=torch.complex64))
nn.CrossEntropyLoss()(torch.ones(2, 3, dtype=torch.complex64), torch.ones(2, 3))
nn.CrossEntropyLoss()(torch.ones(0, 3, 5).bool(), torch.ones(2, 5).long())
nn.CrossEntropyLoss(label_smoothing=0.1)(torch.ones(3, 5).int(), torch.ones(2).long())
nn.SmoothL1Loss(beta=0.0)(torch.ones(3).long(), torch.ones(3).long())
nn.SmoothL1Loss(beta=0.0, reduction="sum")(torch.ones(3).long(), torch.ones(3).long())
nn.HuberLoss(delta=0)(torch.ones(3).long(), torch.ones(3).long())
nn.MultiLabelSoftMarginLoss(reduction=0)(torch.ones(3, 2), torch.ones(3, 2))
nn.FeatureAlphaDropout()(torch.ones(3, dtype=torch.complex64))
nn.RReLU(True)(torch.ones(3, dtype=torch.complex64))
nn.LocalResponseNorm(2)(torch.ones(2, 3, 4).int())
nn.LocalResponseNorm(2)(torch.ones(2, 2, 3, 4).bool())
nn.LocalResponseNorm(2)(torch.ones(2, 2, 3, 4, dtype=torch.complex64))
nn.LocalResponseNorm(0)(torch.ones(2, 3, 4))
nn.LocalResponseNorm(2)(torch.ones(4, 2, 3, 3, 2).permute(4, 0, 1, 2, 3))
nn.MaxPool3d(2)(torch.ones(2, 4, 3, 7).to(memory_format=torch.channels_last))
nn.MaxPool3d(2)(torch.ones(2, 4, 3, 7, dtype=torch.complex64).to(memory_format=torch.channels_last))
torch.linalg.householder_product(torch.ones(3, 2), torch.tensor(1.0))
torch.linalg.householder_product(torch.ones(2, 3, 2), torch.ones(3, 2))
torch.kthvalue(torch.ones(2, 3).bool(), 5)
torch.kthvalue(torch.ones(2, 3, dtype=torch.complex64), 9)
torch.kthvalue(torch.ones(2, 3, dtype=torch.complex64), 1, 7)
torch.mode(torch.ones(2, 3, dtype=torch.complex64), 7)
""".strip().splitlines()


def answer(library, call):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(call, {"torch": library, "nn": library.nn}).tolist()
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]


@pytest.mark.parametrize("call", CALLS)
def test_a_call(call):
    assert answer(pellucid, call) == answer(torch, call)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("statistics", ["float16", "float32", "float64"])
@pytest.mark.parametrize("inputs", [True, False])
def test_instance_norm_takes_statistics_of_any_type(kind, statistics, inputs):
    found = []
    for library in (pellucid, torch):
        x = library.arange(24.0).reshape(2, 3, 4).sin().to(getattr(library, kind))
        mean, var = (library.ones(3, dtype=getattr(library, statistics)) for _ in range(2))
        out = library.nn.functional.instance_norm(x, mean, var, use_input_stats=inputs)
        found.append(
            [t.double().flatten().tolist() + [str(t.dtype)[-7:]] for t in (out, mean, var)]
        )
    for a, b in zip(*found, strict=True):
        assert a[-1] == b[-1] and a[:-1] == pytest.approx(b[:-1], abs=1e-3)


OFTEN = {
    "linalg.solve": ("e(2), o(2, 2)", "o(2), 'text'"),
    "linalg.lstsq": ("o(3, 2), o(3, 2)", "o(2), 1.5"),
    "masked_scatter": ("o(2), o(2) > 0, o(2)", "o(3), o(2) > 0, 'text'"),
    "ormqr": ("o(2, 2), o(2), o(2, 2)", "o(2), [0], o(2, 2)"),
    "rnn_tanh_cell": ("o(2, 2), o(2, 2), o(2, 2), o(2, 2)", "o(2), 'text', o(2, 2), o(2, 2)"),
    "mm": ("o(2, 3), o(3, 2)", "o(2, 3), o(2, 3)"),
}


@pytest.mark.parametrize("path", OFTEN)
def test_classes_come_before_values_in_functions_that_are_called_often(path):
    def told(library):
        function = library
        for part in path.split("."):
            function = getattr(function, part)
        good, bad = OFTEN[path]
        for _ in range(40):
            eval(f"f({good})", {"f": function, "o": library.ones, "e": library.eye})
        with pytest.raises((TypeError, RuntimeError)) as caught:
            eval(f"f({bad})", {"f": function, "o": library.ones, "e": library.eye})
        return type(caught.value).__name__, str(caught.value)

    assert told(pellucid) == told(torch)
