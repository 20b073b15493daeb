"""Charts, and the plots of a training run."""

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import pellucid as torch
from pellucid import debug, nn, optim
from pellucid.debug.pictures.charts import MOST, log_ticks, number, thinned, ticks

SVG = "{http://www.w3.org/2000/svg}"


# ---- charts ------------------------------------------------------------------------------------
def test_ticks_are_round():
    assert ticks(0, 1) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert ticks(-3, 47) == pytest.approx([0, 10, 20, 30, 40])
    assert ticks(5, 5) == [5]
    assert log_ticks(1e-6, 1) == pytest.approx([1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1])
    assert log_ticks(0.9, 6) == pytest.approx([1, 2, 5])
    assert [number(v) for v in (0, 0.25, 1e-6, 2e7, -3, 0.1 + 0.2)] == [
        "0",
        "0.25",
        "1e−6",
        "2e7",
        "−3",
        "0.3",
    ]


def test_thinning_keeps_peaks_and_nans():
    x = list(range(100_000))
    y = [0.0] * 100_000
    y[12_345], y[50_000], y[77_777] = 9.0, float("nan"), -3.0
    fewer_x, fewer_y = thinned(x, y)
    assert len(fewer_x) <= 1.6 * MOST and fewer_x == sorted(fewer_x)
    assert 9.0 in fewer_y and -3.0 in fewer_y and any(math.isnan(v) for v in fewer_y)


def points(line):
    return [tuple(map(float, p.split(","))) for p in line.get("points").split()]


def test_lines_stay_inside_and_go_the_right_way():
    chart = debug.Chart(
        "a & b",
        [
            debug.Series("<one>", range(50), [1.5**-k for k in range(50)]),
            debug.Series("two", [0, 49], [1, 2]),
        ],
        log=True,
    )
    tree = ET.fromstring(chart.svg)
    assert "a & b" in [t.text for t in tree.iter(SVG + "text")]
    left, top, right, bottom = chart.data["box"]
    falling, rising = (points(line) for line in tree.iter(SVG + "polyline"))
    for x, y in falling + rising:
        assert left <= x <= right and top <= y <= bottom
    steps = np.diff([y for _, y in falling])
    assert (steps > 0).all() and np.ptp(steps) < 0.21, "a geometric series is a straight line"
    assert rising[0][1] > rising[1][1]
    assert "<one>" in [t.text for t in tree.iter(SVG + "text")]


def test_what_cannot_be_drawn_is_marked():
    chart = debug.Chart(
        "loss",
        [debug.Series("loss", range(6), [1.0, 0.5, float("nan"), 0.0, float("inf"), 2.0])],
        log=True,
    )
    tree = ET.fromstring(chart.svg)
    assert [p.get("class") for p in tree.iter(SVG + "path")].count("bad") == 2
    assert "1 values of 0 or less are not shown" in [t.text for t in tree.iter(SVG + "text")]
    assert len(list(tree.iter(SVG + "polyline"))) == 1, "the line has gaps"
    assert chart.data["series"][0][2][2] == "nan"
    for series in (
        [],
        [debug.Series("none", [], [])],
        [debug.Series("bad", [0], [float("nan")])],
        [debug.Series("flat", [1, 2], [0, 0])],
    ):
        ET.fromstring(debug.Chart("empty", series).svg)
        ET.fromstring(debug.Chart("empty", series, log=True).svg)


# ---- training ----------------------------------------------------------------------------------
def trained(every=1, steps=4, **options):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2, bias=False))
    opt = optim.SGD(net.parameters(), lr=0.5)
    norms, ratios = [], []
    with debug.TrainingPlots(net, opt, every=every, **options) as plots:
        for _ in range(steps):
            loss = net(torch.randn(16, 3)).square().mean()
            opt.zero_grad()
            loss.backward()
            grad, before = net[2].weight.grad.clone(), net[2].weight.detach().clone()
            opt.step()
            norms.append(grad.norm().item())
            ratios.append(((net[2].weight - before).norm() / before.norm()).item())
            plots.log(loss=loss)
    return net, plots, norms, ratios


def test_what_is_recorded():
    net, plots, norms, ratios = trained()
    assert plots.gradients["2"] == ([0, 1, 2, 3], pytest.approx(norms)) and plots.updates["2"][
        1
    ] == pytest.approx(ratios)
    assert set(plots.gradients) == {"0", "2"} and set(plots.idle) == {"0", "1", "2"}
    assert all(0.2 < z < 0.8 for z in plots.idle["1"][1]) and plots.idle["0"][1] == [0, 0, 0, 0]
    assert plots.logged["loss"][0] == [0, 1, 2, 3]
    assert not any(m._forward_hooks for m in net.modules()), "the hooks are out"


def test_parameters_of_the_model_itself_have_a_line_of_their_own():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))
            self.inner = nn.Linear(2, 1)

        def forward(self, x):
            return self.inner(x) * self.scale

    net = Net()
    plots = debug.TrainingPlots(net)
    net(torch.ones(1, 2)).sum().backward()
    plots.step()
    assert [s.name for s in plots.charts[0].series] == ["Net", "inner Linear"]


def test_watching_changes_no_number():
    watched = trained()[0].state_dict()
    plain = trained(every=1000)[0].state_dict()
    assert all(torch.equal(watched[k], plain[k]) for k in watched)


def test_every_other_step_and_no_activations():
    _, plots, norms, _ = trained(every=2, steps=5, activations=False)
    assert (
        plots.gradients["2"] == ([0, 2, 4], pytest.approx(norms[::2]))
        and not plots.idle
        and plots.steps == 5
    )


@pytest.mark.parametrize(
    ("kind", "values"), [(nn.Tanh, [-9, -1, 0, 9]), (nn.Sigmoid, [-9, 0, 1, 9])]
)
def test_saturation(kind, values):
    net = nn.Sequential(kind())
    plots = debug.TrainingPlots(net)
    net(torch.tensor(values, dtype=torch.float32))
    plots.step()
    assert plots.idle["0"][1] == [0.5]


def test_evaluation_between_steps_is_not_recorded():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    plots = debug.TrainingPlots(net)
    net.eval()
    net(torch.ones(1, 2) * 1e6)
    net.train()
    net(torch.ones(1, 2)).sum().backward()
    plots.step()
    plots.close()
    assert (
        abs(plots.means["0"][1][0]) < 100 and not plots.updates and plots.gradients["0"][0] == [0]
    )


def test_the_page(tmp_path):
    _, plots, _, _ = trained()
    titles = [chart.title for chart in plots.charts]
    assert [t.split()[0] for t in titles] == [
        "Logged:",
        "Gradient",
        "Gradient",
        "Update",
        "Standard",
        "Mean",
        "Share",
    ]
    assert plots.charts[2].categories == ["0", "2"] and len(plots.charts[2].series) == 3
    page = plots.save(tmp_path / "run.html").read_text(encoding="utf-8")
    assert (
        page.count("<figure") == 7 and "default-src 'none'" in page and page.count("http://") == 8
    )
    assert plots._repr_html_().count("<svg") == 7
    empty = debug.TrainingPlots(nn.Linear(1, 1))
    assert "No step was recorded" in empty.html and empty.charts == []


def test_wrong_use():
    with pytest.raises(TypeError, match="must be a Module"):
        debug.TrainingPlots(3)
    with pytest.raises(ValueError, match="at least 1"):
        debug.TrainingPlots(nn.Linear(1, 1), every=0)
    net = nn.Linear(1, 1)
    with pytest.raises(ValueError, match="recorded by themselves"):
        debug.TrainingPlots(net, optim.SGD(net.parameters(), lr=1)).step()
