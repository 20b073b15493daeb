"""How notebooks show tensors and modules."""

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

import pellucid as torch
from pellucid import nn


def text_of(html):
    return "".join(ET.fromstring(html.replace("&middot;", "|")).itertext())


def test_a_matrix_is_a_table_with_its_facts():
    x = torch.tensor([[1.0, -2.5], [float("nan"), 4.0]])
    html = x._repr_html_()
    assert html.count("<td") == 4 and "-2.5" in html
    text = text_of(html)
    assert (
        "shape (2, 2) | float32 | cpu | 16 bytes | min -2.5, max 4, mean 0.8333 | 1 NaN, 0 Inf"
        in text
    )


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: torch.ones(3), "tensor([1., 1., 1.])"),
        (lambda: torch.tensor(True), "tensor(True)"),
        (lambda: torch.zeros(2, 3, 4, dtype=torch.bfloat16), "bfloat16"),
        (lambda: torch.zeros(100, 100), "40,000 bytes"),
        (lambda: torch.zeros(0, 3), "tensor([], size=(0, 3))"),
        (lambda: torch.ones(2, 2, dtype=torch.complex64), "1.+0.j"),
        (lambda: torch.empty(2, 2, device="meta"), "device='meta'"),
        (lambda: torch.ones(2, requires_grad=True), "leaf that requires a gradient"),
        (lambda: nn.Parameter(torch.ones(2)), "Parameter containing"),
    ],
)
def test_tensors_of_all_kinds(make, expected):
    assert expected in text_of(make()._repr_html_())


def test_where_a_tensor_was_made():
    x = torch.ones(2, requires_grad=True)
    y = (x * 2).sum()
    assert "made by SumBackward0 at test_notebook.py:" in text_of(y._repr_html_())
    y.backward()
    assert "has one" in text_of(x._repr_html_())


def test_modules_are_trees_with_parameters_counted_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 3)
            self.b = nn.Linear(3, 3)
            self.b.weight = self.a.weight
            self.again = self.a

        def extra_repr(self):
            return "<tied> & so on"

    text = text_of(Tied()._repr_html_().replace(" open>", ">"))
    assert (
        text.startswith("Tied(<tied> & so on) 15 parameters")
        and "a: Linear(in_features=3, out_features=3, bias=True) 12 parameters" in text
    )
    assert (
        "b: Linear(in_features=3, out_features=3, bias=True) 3 parameters" in text
        and text.count("parameters") == 3
    )
    assert (
        nn.ReLU()._repr_html_()
        == '<div style="font-family:monospace"><div style="margin-left:1.1em"><b>ReLU</b>()</div></div>'
    )


def test_nothing_more_is_imported():
    program = "import sys, pellucid; pellucid.ones(2)._repr_html_(); print('pellucid.debug' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        == "False\n"
    )
