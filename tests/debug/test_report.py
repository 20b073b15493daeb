"""The report page of a check, as text; tests/debug/test_pages.py looks at it in a browser."""

import math
import re
from types import SimpleNamespace

import pytest

import pellucid as torch
from pellucid import debug
from pellucid.debug.pictures.report import check_report, earlier, excerpt

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
        histograms={"w": [(0, [0.0, 1.0, 2.0], [1, 3])]},
        gradient_histograms={},
        activation_histograms={"0 (Linear)": [(0, [0.0, 1.0, 2.0], [1, 3])], "1 (ReLU)": []},
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
    assert "SGD group 1" in page and "Graph of the last loss" in page and page.count("<figure") == 5
    assert "Histograms of activations" in page and "0 (Linear)" in page and "1 (ReLU)" not in page
    result.measures = None
    assert "<figure" not in check_report(result)


def test_histograms_of_the_largest_parameters():
    def counted(size):
        return [(step, [0.0, 0.5, 1.0], [size, 3 * size]) for step in (0, 1, 2, 4, 8)]

    values = {f"p{k}": counted(k + 1) for k in range(20)}
    report = debug.Report("check", histograms=values, gradient_histograms={"p19": counted(1)[:1]})
    charts = report._histograms()
    assert [c.title for c in charts] == [*(f"p{k}" for k in range(8, 20)), "p19, gradient"]
    assert [s.name for s in charts[0].series] == ["step 0", "step 2", "step 8"]
    assert charts[0].series[0].x == [0.0, 0.0, 0.5, 0.5, 1.0, 1.0]
    assert charts[0].series[0].y == pytest.approx([0.0, 1 / 3, 1 / 3, 1.0, 1.0, 0.0])
    assert [len(c.series) for c in charts[-1:]] == [1] and not charts[0].data["smooth"]


def test_activations_from_the_first_module_to_the_last():
    rows = [(0, [0.0, 1.0], [4])]
    many = debug.Report("check", activation_histograms={f"m{k}": rows for k in range(100)})
    titles = [c.title for c in many._activations()]
    assert len(titles) == 12 and titles[0] == "m0" and titles[-1] == "m99"
    for count in (0, 1, 2, 12):
        few = debug.Report("check", activation_histograms={f"m{k}": rows for k in range(count)})
        assert [c.title for c in few._activations()] == [f"m{k}" for k in range(count)]


def test_an_earlier_report_beside_this_one(tmp_path):
    path = script_in(tmp_path)
    first = debug.Report(
        "check",
        "three steps",
        losses=[(0, 3.0), (1, float("nan"))],
        gradient_norms={f"p{k}": [(0, float(k + 1))] for k in range(50)},
        findings=[finding(path, 4), finding(path, 5)],
    )
    first.save(tmp_path / "first.html")
    second = debug.Report(
        "check",
        losses=[(0, 2.0)],
        gradient_norms={"p3": [(0, 1.0)]},
        findings=[finding(path, 5), finding(path, 2)],
        compared=earlier(tmp_path / "first.html"),
    )
    loss, norms = second._charts()
    assert [s.name for s in loss.series] == ["loss", "loss (first)"]
    assert loss.series[1].y[0] == 3.0 and math.isnan(loss.series[1].y[1])
    assert len(norms.series) == 41 and norms.series[0].name == "p3"
    gone, new = re.findall(r"<h3>(?:Gone since then|New)</h3><ul>(.*?)</ul>", second.html)
    assert "train.py:4" in gone and "train.py:2" in new and "train.py:5" not in gone + new
    assert "three steps" in second.html
    second.save(tmp_path / "second.html")
    names = {s.name for s in earlier(tmp_path / "second.html").lines["Loss"]}
    assert names == {"loss (second)"}, "not those of the run that it was compared with"


def test_what_is_no_report_is_refused(tmp_path):
    path = script_in(tmp_path)
    for text in (SCRIPT, '<script type="application/json" id="data">[1]</script>'):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match="is no report of pellucid check"):
            earlier(path)
