"""The report page of a check, as text; tests/debug/test_pages.py looks at it in a browser."""

import re
from types import SimpleNamespace

import pellucid as torch
from pellucid import debug
from pellucid.debug.pictures.report import check_report, excerpt

SCRIPT = """import torch
# <b>bold</b> & "quoted" ünïcode
x = torch.ones(2, requires_grad=True)
loss = (x * 2).sum()
loss.backward()
"""


def finding(file, line=4, **changed):
    return {
        "rule": "PL101",
        "name": "mutual-broadcast",
        "severity": "error",
        "file": str(file),
        "line": line,
        "message": "a <script> & b",
        "evidence": {"input_shape": [8, 1], "ratio": 0.25, "what": "<i>"},
        "fix": "write <this>",
        **changed,
    }


def script_in(folder):
    path = folder / "train.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def test_findings_with_their_source(tmp_path):
    path = script_in(tmp_path)
    page = debug.Report(
        "check", script=str(path), findings=[finding(path), finding(path, 5, severity="warning")]
    ).html
    assert (
        page.count("<article") == 2
        and 'class="finding error"' in page
        and 'class="finding warning"' in page
    )
    assert (
        '<div class="hit"><span class="no">4</span>loss = (x * 2).sum()</div>' in page
        and "input shape" in page
        and "(8, 1)" in page
    )
    assert '<div class="hit" id="L4">' in page and 'href="#L4"' in page
    assert (
        "a &lt;script&gt; &amp; b" in page
        and "&lt;b&gt;bold&lt;/b&gt;" in page
        and "<b>bold" not in page
        and "write &lt;this&gt;" in page
    )
    assert len(re.findall(r"<script", page)) == 2, (
        "the data and the program of the page, and nothing from the script"
    )


def test_what_is_left_out_is_not_shown():
    page = debug.Report("check").html
    assert (
        "No findings." in page
        and "<table" not in page
        and "<figure" not in page
        and 'id="graph"' not in page
        and "Source" not in page
    )


def test_a_place_that_cannot_be_read():
    assert (
        excerpt("/nowhere.py", 3) == ""
        and "/nowhere.py:3" in debug.Report("check", findings=[finding("/nowhere.py", 3)]).html
    )


def test_costs_are_added_up_by_operation_and_by_line(tmp_path):
    path = script_in(tmp_path)
    costs = [
        ("mul", str(path), 4, 3, 0.3, 2**20),
        ("mul", "", 0, 1, 0.1, 0),
        ("sum", str(path), 4, 1, 0.6, 2**20),
    ]
    page = debug.Report("check", costs=costs).html
    operations, lines = re.findall(r"<tbody>(.*?)</tbody>", page)
    rows = [
        re.sub(r"<[^>]+>", " ", row).split() for row in re.findall(r"<tr>(.*?)</tr>", operations)
    ]
    assert rows == [
        ["sum", "1", "600.00", "60.0%", "600,000.0", "1.00"],
        ["mul", "4", "400.00", "40.0%", "100,000.0", "1.00"],
    ]
    assert (
        "train.py:4" in lines
        and "loss = (x * 2).sum()" in lines
        and "900.00" in lines
        and "not in the program" in lines
    )


def test_of_very_many_parameters_the_largest_are_drawn():
    norms = {f"p{k}": [(0, float(k + 1)), (1, float("nan"))] for k in range(100)}
    report = debug.Report("check", gradient_norms=norms, losses=[(0, 1.0), (1, float("inf"))])
    loss, chart = report._charts()
    assert (
        len(chart.series) == 40
        and chart.series[0].name == "p60"
        and "40 largest of 100" in chart.title
        and loss.log
    )


def test_the_result_of_a_check(tmp_path):
    path = script_in(tmp_path)
    x = torch.ones(2, requires_grad=True)
    found = SimpleNamespace(as_dict=lambda: finding(path))
    cost = SimpleNamespace(calls=1, seconds=0.5, bytes=8)
    measures = SimpleNamespace(
        losses=[(0, 1.0)],
        gradient_norms={"w": [(0, 1.0)]},
        update_ratios={},
        learning_rates={"SGD": [(0, [0.1, 0.2])]},
        costs={("mul", str(path), 4): cost},
        graph=(x * 2).sum(),
    )
    result = SimpleNamespace(
        findings=[found],
        engine="pellucid",
        script=str(path),
        steps=1,
        seconds=1.25,
        notes=["a < note"],
        failure=ValueError("a > b"),
        measures=measures,
    )
    page = check_report(result)
    assert "1 finding, 1 of severity error, in 1 optimizer step, 1.2 s, engine: pellucid" in page
    assert "Note: a &lt; note" in page and "the program ended with ValueError: a &gt; b" in page
    assert "SGD group 1" in page and "Graph of the last loss" in page and page.count("<figure") == 3
    result.measures = None
    assert "<figure" not in check_report(result)
