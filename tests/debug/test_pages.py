"""The pages in a browser without a window: clicking, searching, folding, playing; light and dark;
nothing from the network.
"""

import json
import struct
import sys
import zlib
from pathlib import Path

import pytest

import pellucid as torch
from pellucid import debug, nn
from pellucid.check import watching
from pellucid.debug.pictures.report import check_report, write
from pellucid.scalar import Value

sys.path.insert(0, str(Path(__file__).parent))
try:
    import browser
finally:
    sys.path.pop(0)

if browser.find() is None:
    pytest.skip("no Chromium is installed", allow_module_level=True)

EVIL = "</script><img src=x onerror='document.title=\"broken\"'> & ü✓ \u2028 {{svg}}"


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        return x + torch.relu(self.linear(x))


@pytest.fixture(scope="module")
def chromium():
    started = browser.Browser(1100, 760)
    yield started
    started.close()


@pytest.fixture
def show(chromium, tmp_path):
    """Save something as a page and open it; afterwards nothing may have failed or been fetched."""

    def opened(drawing, scripts=True):
        chromium.open(drawing.save(tmp_path / "page.html"), scripts)
        return chromium

    yield opened
    assert chromium.errors == []
    assert [url for url in chromium.requests if not url.startswith("file:///")] == []


def pixels(png):
    """Width, height and rows of RGB of a PNG as Chromium writes it (8 bits, no interlacing)."""
    place, data, size = 8, b"", None
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place : place + 8])
        body = png[place + 8 : place + 8 + length]
        if kind == b"IHDR":
            size = struct.unpack(">IIBB", body[:10])
        elif kind == b"IDAT":
            data += body
        place += 12 + length
    width, height, _, colour = size
    step = {2: 3, 6: 4}[colour]
    raw, rows, above = zlib.decompress(data), [], bytearray(width * step)
    for y in range(height):
        at = y * (width * step + 1)
        kind, row = raw[at], bytearray(raw[at + 1 : at + 1 + width * step])
        if kind == 1:
            for i in range(step, len(row)):
                row[i] = (row[i] + row[i - step]) & 255
        elif kind == 2:
            row = bytearray((a + b) & 255 for a, b in zip(row, above, strict=True))
        elif kind == 3:
            for i in range(len(row)):
                row[i] = (row[i] + ((row[i - step] if i >= step else 0) + above[i]) // 2) & 255
        elif kind == 4:
            for i in range(len(row)):
                a, b, c = (
                    (row[i - step] if i >= step else 0),
                    above[i],
                    (above[i - step] if i >= step else 0),
                )
                p = a + b - c
                near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
                row[i] = (row[i] + near) & 255
        rows.append(row)
        above = row
    return width, height, step, rows


def place_of(chromium, node):
    """Where a node lies in the window."""
    x, y = chromium.run(
        f"(() => {{ const v = graphView, i = v.layout.shown[{node}], r = v.canvas.getBoundingClientRect();"
        " return [r.x + v.tx + i.x * v.scale, r.y + v.ty + (i.y + i.height / 2) * v.scale]; })()"
    )
    return x, y


def small():
    x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    return (x + y) * x, {"x": x, "y": y}


# ---- the graph ---------------------------------------------------------------------------------
def test_a_click_says_what_is_known_of_a_box(show):
    f, names = small()
    page = show(debug.draw(f, names=names))
    assert (
        page.run("document.querySelector('.still').hidden")
        and page.run("graphView.layout.boxes.length") == 4
    )
    page.click(*place_of(page, 2))
    panel = page.run("document.querySelector('aside').innerText")
    assert (
        "AddBackward0" in panel
        and "f, names = small()" not in panel
        and "return (x + y) * x" in panel
        and "Used by" in panel
    )
    assert page.run("graphView.selected") == 2
    page.click_on("aside .item")
    assert page.run("graphView.selected") == 0, "the names in the panel lead to their boxes"
    page.click(30, 700)
    assert page.run("graphView.selected") is None


def test_search(show):
    model = nn.Sequential(*[Block() for _ in range(3)])
    page = show(debug.draw(model, torch.ones(2, 6)))
    page.key("/")
    page.type("INPUT (2")
    assert page.run("document.querySelector('.hits').textContent") == "1 found"
    page.key("Enter")
    assert page.run("graphView.data.nodes[graphView.selected].n") == "input"
    x, y = place_of(page, page.run("graphView.selected"))
    assert 100 < x < 900 and 100 < y < 740, "what was found is shown"
    page.run("graphView.search.value = ''")
    page.type("weight")
    page.key("Enter")
    page.key("Enter")
    assert page.run("document.querySelector('.hits').textContent") == "2 of 3"
    page.run("graphView.find('nowhere')")
    assert page.run("document.querySelector('.hits').textContent") == "0 found"


def test_modules_open_and_close(show):
    model = nn.Sequential(Block(), nn.Sequential(Block(), nn.Tanh()))
    page = show(debug.draw(model, torch.ones(2, 6)))
    groups = page.run("graphView.data.groups.map(g => g[0])")
    assert groups == [
        "0: Block",
        "linear: Linear",
        "1: Sequential",
        "0: Block",
        "linear: Linear",
        "1: Tanh",
    ]
    whole = page.run("graphView.layout.boxes.filter(b => b).length")
    page.run("graphView.setOpen([])")
    page.frame()
    assert (
        page.run("graphView.layout.closed.length") == 2
        and page.run("graphView.layout.boxes.filter(b => b).length") == 1
    )
    page.click(*place_of(page, whole - 1))  # the result lies in the closed module
    assert (
        page.run("[...graphView.open]") == [2] and page.run("graphView.layout.closed.length") == 3
    )
    # A click on the name of an open module closes it.
    page.click(
        *page.run(
            "(() => { const v = graphView, f = v.layout.frames[0], r = v.canvas.getBoundingClientRect();"
            " return [r.x + v.tx + f.x * v.scale, r.y + v.ty + (f.y + 10) * v.scale]; })()"
        )
    )
    assert page.run("[...graphView.open]") == []
    page.run("graphView.go(graphView.data.nodes.findIndex(n => n.n === 'relu'))")
    assert page.run("[...graphView.open].sort()") == [0], "going to a box opens what is around it"
    page.click_on("button[title='Open every module']")
    assert page.run("graphView.layout.frames.length") == 6


def test_boxes_and_frames_do_not_overlap(show):
    page = show(debug.draw(nn.Sequential(*[Block() for _ in range(3)]), torch.ones(2, 6)))
    overlaps = page.run(
        """(() => {
          const l = graphView.layout, boxes = l.boxes.filter(b => b).concat(l.closed), rect = (i) => [i.x - i.width / 2, i.y, i.x + i.width / 2, i.y + i.height];
          let count = 0;
          boxes.forEach((p, i) => boxes.slice(i + 1).forEach((q) => { const a = rect(p), b = rect(q);
            if (a[0] < b[2] - .1 && b[0] < a[2] - .1 && a[1] < b[3] - .1 && b[1] < a[3] - .1) count++; }));
          for (const f of l.frames) for (const b of boxes) {
            const a = rect(f), c = rect(b), inside = c[0] >= a[0] && c[2] <= a[2] && c[1] >= a[1] && c[3] <= a[3];
            const apart = c[2] <= a[0] || c[0] >= a[2] || c[3] <= a[1] || c[1] >= a[3];
            if (!inside && !apart) count++;
          }
          return [count, boxes.length, l.frames.length];
        })()"""
    )
    assert overlaps == [0, 10, 6]


def test_parameters_stand_in_the_boxes_that_use_them(show):
    page = show(debug.draw(Block(), torch.ones(2, 6)))
    assert page.run("graphView.data.nodes.map(n => n.n)") == ["input", "linear", "relu", "add"]
    linear = page.run("graphView.lines[1].map(l => l[0])")
    assert linear[:3] == ["linear", "weight (6, 6)", "bias (6,)"]
    page.run("graphView.go(1)")
    assert "Parameter linear.weight" in page.run("document.querySelector('aside').innerText")
    shared = nn.Linear(6, 6)
    page = show(debug.draw(nn.Sequential(shared, shared), torch.ones(2, 6)))
    assert page.run("graphView.data.nodes.map(n => n.n)").count("weight") == 1, (
        "one that is used twice keeps its box and its arrows"
    )


def test_a_large_graph_opens_at_its_top_with_modules_closed(show):
    model = nn.Sequential(*[nn.Sequential(*[Block() for _ in range(6)]) for _ in range(8)])
    page = show(debug.draw(model, torch.ones(2, 6)))
    shown = page.run(
        "graphView.layout.boxes.filter(b => b).length + graphView.layout.closed.length"
    )
    assert shown <= 36 < page.run("graphView.data.nodes.length")
    page.click_on("button[title='Open every module']")
    x, y = place_of(page, 0)
    assert 100 < y < 400, "the input is in view"
    left, top, scale = page.run("graphView.map()")
    box = page.run(
        "(() => { const r = graphView.canvas.getBoundingClientRect(); return [r.x, r.y]; })()"
    )
    page.click(
        box[0] + left + scale * page.run("graphView.layout.width") / 2,
        box[1] + top + 0.9 * scale * page.run("graphView.layout.height"),
    )
    middle = page.run(
        "(graphView.height / 2 - graphView.ty) / graphView.scale / graphView.layout.height"
    )
    assert middle == pytest.approx(0.9, abs=0.02) and page.run("graphView.selected") is None
    page.run("graphView.fit()")
    assert page.run("graphView.map()") is None


_HIDDEN = """(() => { const v = graphView, [left, top, s] = v.map(), right = left + v.layout.width * s, bottom = top + v.layout.height * s;
  return v.layout.boxes.filter((b) => b && (b.x + b.width / 2) * v.scale + v.tx > left && (b.x - b.width / 2) * v.scale + v.tx < right
    && (b.y + b.height) * v.scale + v.ty > top && b.y * v.scale + v.ty < bottom).length; })()"""


def test_a_played_network_is_not_cut_off_on_a_small_screen(show, chromium):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    x, y = torch.ones(4, 2), torch.zeros(4, 1)
    chromium.size(1024, 768)
    try:
        page = show(debug.step_through(lambda: nn.functional.mse_loss(model(x), y), names=model))
        inside = (
            "graphView.layout.boxes.filter((b) => b).every((b) => (b.x - b.width / 2) * graphView.scale + graphView.tx >= 0 &&"
            " (b.x + b.width / 2) * graphView.scale + graphView.tx <= graphView.width)"
        )
        assert page.run("graphView.layout.height * graphView.scale > graphView.height")
        for k in range(page.run("stepPlayer.steps.length")):
            page.run(f"stepPlayer.go({k})")
            page.frame()
            assert page.run(inside), "no box is cut off at the side"
            assert page.run(_HIDDEN) == 0, "the map hides no box while a corner is free"
    finally:
        chromium.size(1100, 760)


def test_the_map_stays_in_its_corner_while_it_is_dragged(show):
    model = nn.Sequential(*[Block() for _ in range(12)])
    page = show(debug.draw(model, torch.ones(2, 6)))
    page.click_on("button[title='Open every module']")
    left, top, scale = page.run("graphView.map()")
    x, y = page.run(
        "(() => { const r = graphView.canvas.getBoundingClientRect(); return [r.x, r.y]; })()"
    )
    height = page.run("graphView.layout.height") * scale
    corners = set()
    for kind, share in [("mousePressed", 0.1), *[("mouseMoved", k / 10) for k in range(2, 9)]]:
        page.call(
            "Input.dispatchMouseEvent", type=kind, x=x + left + 2, y=y + top + share * height,
            button="left", buttons=1, clickCount=1,
        )  # fmt: skip
        page.frame()
        corners.add(tuple(page.run("graphView.map()")))
    page.call(
        "Input.dispatchMouseEvent", type="mouseReleased", x=x + left + 2, y=y + top + height / 2,
        button="left", clickCount=1,
    )  # fmt: skip
    assert corners == {(left, top, scale)}


def test_titles_of_frames_are_free_of_arrows(show):
    model = nn.Sequential(*[Block() for _ in range(3)])
    page = show(debug.draw(model, torch.ones(2, 6)))
    crossed = page.run(
        """graphView.layout.frames.map((f) => {
          const width = 7.3 * (graphView.data.groups[f.index][0].length + 2), x = titlePlace(f.x - f.width / 2, f.width, f.ports, width);
          return x === undefined || f.ports.some((p) => p > x - 4 && p < x + width + 4);
        })"""
    )
    assert crossed == [False] * 6


def test_inputs_and_values_are_drawn(show):
    x, w = torch.ones(3, 5), torch.ones(5, 1, requires_grad=True)
    y = torch.tensor(0.5, requires_grad=True)
    page = show(debug.draw((x @ w).sum() * torch.sin(y * 2), names={"w": w, "y": y}))
    names = page.run("graphView.data.nodes.map(n => n.n)")
    assert "input  (3, 5)" in names
    sine = names.index("sin")
    assert page.run(f"graphView.data.nodes[{sine}].v") == "0.8415"


def test_moving_and_zooming(show):
    f, names = small()
    page = show(debug.draw(f, names=names))
    before = page.run("[graphView.tx, graphView.ty, graphView.scale]")
    page.call("Input.dispatchMouseEvent", type="mouseWheel", x=300, y=300, deltaX=0, deltaY=100)
    page.frame()
    after = page.run("[graphView.tx, graphView.ty, graphView.scale]")
    assert after[1] == pytest.approx(before[1] - 100) and after[2] == before[2]
    page.call(
        "Input.dispatchMouseEvent",
        type="mouseWheel",
        x=300,
        y=300,
        deltaX=0,
        deltaY=-100,
        modifiers=2,
    )
    page.frame()
    assert page.run("graphView.scale") > before[2]
    for kind, x in (
        ("mousePressed", 200),
        ("mouseMoved", 230),
        ("mouseMoved", 260),
        ("mouseReleased", 260),
    ):
        page.call(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=300,
            button="left",
            buttons=1,
            clickCount=1,
        )
    page.frame()
    assert page.run("graphView.selected") is None
    page.click_on("button[title='Show all of it']")
    assert page.run("[graphView.tx, graphView.ty, graphView.scale]") == pytest.approx(before)


def test_two_fingers_zoom(show):
    f, names = small()
    page = show(debug.draw(f, names=names))
    before = page.run("graphView.scale")

    def touch(kind, *points):
        page.call(
            "Input.dispatchTouchEvent",
            type=kind,
            touchPoints=[{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(points)],
        )

    touch("touchStart", (300, 300), (400, 300))
    for k in range(1, 6):
        touch("touchMove", (300 - 10 * k, 300), (400 + 10 * k, 300))
    touch("touchEnd")
    page.frame()
    assert (
        page.run("graphView.scale") == pytest.approx(2 * before, rel=0.05)
        and page.run("graphView.selected") is None
    )


def test_names_that_look_like_html_are_text(show):
    x = torch.ones((), requires_grad=True)
    page = show(debug.draw(x * 2, names={EVIL: x}, title=EVIL))
    assert (
        page.run("document.title") == EVIL.replace("\u2028", "\u2028")
        and page.run("document.querySelector('h1').textContent") == EVIL
    )
    page.run("graphView.go(0)")
    assert EVIL.split("{")[0].strip() in page.run("document.querySelector('aside').textContent")
    assert page.run("document.querySelectorAll('img').length") == 0


def test_without_javascript_there_is_the_picture(show, chromium):
    chromium.call("Emulation.setScriptExecutionDisabled", value=True)
    f, names = small()
    try:
        page = show(debug.draw(f, names=names), scripts=False)
        assert page.run("document.querySelector('.still svg').getBoundingClientRect().width > 100")
        assert page.run("typeof graphView") == "undefined"
    finally:
        chromium.call("Emulation.setScriptExecutionDisabled", value=False)


def test_light_and_dark(show, chromium):
    f, names = small()
    page = show(debug.draw(f, names=names))
    grounds = {}
    for scheme in ("light", "dark"):
        chromium.scheme(scheme)
        page.frame()
        _, height, step, rows = pixels(page.picture())
        grounds[scheme] = tuple(rows[height - 40][20 * step : 20 * step + 3])
        seen = {
            tuple(row[i : i + 3])
            for row in rows[100 : height - 10]
            for i in range(0, 700 * step, step)
        }
        spread = max(abs(sum(c) - sum(grounds[scheme])) for c in seen)
        assert spread > 400, "the writing stands out from the ground"
    chromium.scheme("light")
    assert grounds == {"light": (255, 255, 255), "dark": (13, 17, 23)}


def test_ten_thousand_boxes(show):
    """How long drawing takes is measured in benchmarks; here: only what is in view is drawn, and
    layout stays small.
    """
    w = torch.ones((), requires_grad=True)
    h = w
    for _ in range(5000):
        h = torch.tanh(h * w)
    page = show(debug.draw(h, names={"w": w}))
    assert page.run("graphView.data.nodes.length") == 10_001
    drawn = page.run(
        "(() => { let n = 0; const v = graphView, old = v.drawBox; v.drawBox = (...a) => { n++; return old.apply(v, a); }; v.draw(); v.drawBox = old; return n; })()"
    )
    assert 3 < drawn < 40
    assert (
        page.run("graphView.layout.links.length") == 15_000
        or page.run("graphView.layout.links.filter(l => l.stub).length") > 4000
    )
    page.run("graphView.find('w')")
    # The bar at the right edge leads to any part of it.
    right, top, height = page.run(
        "(() => { const r = graphView.canvas.getBoundingClientRect(); return [r.right, r.y, r.height]; })()"
    )
    page.click(right - 5, top + 3)
    assert -50 < page.run("graphView.ty + 0") <= 0
    page.click(right - 5, top + height / 2)
    middle = page.run(
        "(graphView.height / 2 - graphView.ty) / graphView.scale / graphView.layout.height"
    )
    assert middle == pytest.approx(0.5, abs=0.01) and page.run("graphView.selected") is None
    page.run("graphView.fit()")
    page.frame()
    assert page.run("graphView.thumb()") is None


# ---- playing -----------------------------------------------------------------------------------
def test_the_player(show):
    f, names = small()
    page = show(debug.step_through(f, names=names))
    text = "document.querySelector('aside').innerText"
    assert (
        "Forward" in page.run(text)
        and "input = x" in page.run(text)
        and page.run("stepPlayer.at") == 0
    )
    assert page.run("document.querySelector('button[title^=First]').disabled")
    page.click_on("button[title^='One step on']")
    page.key("ArrowRight")
    assert (
        page.run("stepPlayer.at") == 2
        and "Backward" in page.run(text)
        and "local derivative" in page.run(text)
    )
    page.key("End")
    shown = page.run(text)
    assert "y.grad" in shown and page.run("stepPlayer.at") == 5
    page.key("ArrowLeft")
    shown = page.run(text)
    assert (
        "from mul" in shown
        and "from add" in shown
        and shown.rstrip().split("sum")[1].split()[0] == "7"
    )
    page.key("Home")
    page.click_on("button[title^='One step back']")
    assert page.run("stepPlayer.at") == 0
    page.run("stepPlayer.slider.value = 3; stepPlayer.slider.dispatchEvent(new Event('input'))")
    assert page.run("stepPlayer.at") == 3 and page.run("graphView.current") == page.run(
        "stepPlayer.steps[3].i"
    )


def test_playing_runs_to_the_end_and_numbers_appear_on_the_way(show):
    f, names = small()
    page = show(debug.step_through(f, names=names))
    assert page.run("[graphView.showValue(3), graphView.showGrad(3), graphView.showValue(0)]") == [
        False,
        False,
        True,
    ]
    page.run("stepPlayer.speed.value = '40'")
    page.click_on("button[title^='Play']")
    assert page.run("stepPlayer.playButton.textContent") == "Pause"
    page.run(
        "new Promise(done => { const wait = () => stepPlayer.timer ? setTimeout(wait, 20) : done(1); wait(); })"
    )
    assert (
        page.run("stepPlayer.at") == 5 and page.run("stepPlayer.playButton.textContent") == "Play"
    )
    assert page.run("[graphView.showValue(3), graphView.showGrad(3)]") == [True, True]


def test_gradients_travel_against_the_arrows(show):
    f, names = small()
    page = show(debug.step_through(f, names=names))
    page.run("stepPlayer.go(1)")
    assert page.run("graphView.sent") is None and page.run("graphView.travel.map(t => t[1])") == [
        "5",
        "2",
    ]
    page.run("stepPlayer.go(2)")
    assert (
        page.run("graphView.travel.map(t => t[1])") == ["2", "5"]
        and page.run("graphView.sent.size") == 2
    )
    assert page.run("graphView.gradNow(0)") == "5", "x has one of its two parts"
    assert (
        page.run("document.querySelector('.chain math').textContent")
        == "∂mul∂add=∂mul∂mul·∂mul∂add"
    )
    assert page.run("document.querySelector('.chain .mono').textContent") == "= 1 · 2 = 2"
    assert "return (x + y) * x" in page.run("document.querySelector('.lines .hit').textContent")
    page.run("stepPlayer.go(3)")
    assert page.run("graphView.gradNow(0)") == "7" and page.run("graphView.sent.size") == 4
    start, end = page.run(
        "(() => { const w = graphView.way(0); return [w[1], w[w.length - 1]]; })()"
    )
    assert start < end, "a way begins at the source, which stands higher"


def test_inputs_can_be_changed(show):
    f, names = small()
    page = show(
        debug.step_through(
            lambda: (f.detach() * 0 + names["x"] + names["y"]) * names["x"], names=names
        )
    )
    assert (
        page.run("sliders") is not None
        and page.run("document.querySelectorAll('.sliders input').length") == 2
    )
    page.run(
        "(() => { const s = document.querySelector('[aria-label=\"Value of x\"]'); s.value = -1.5; s.dispatchEvent(new Event('input')); })()"
    )
    page.key("End")
    page.run("stepPlayer.go(stepPlayer.steps.findIndex(s => s.h === 'x.grad'))")
    assert page.run("document.querySelector('.sum').innerText").split() == ["sum", "0"], (
        "2 x + y at x = -1.5, y = 3"
    )
    assert page.run("graphView.data.nodes.find(n => n.k === 'result').v") == "-2.25"
    page.click_on(".sliders button")
    assert page.run("graphView.data.nodes.find(n => n.k === 'result').v") == "10"


def test_tensors_have_no_sliders(show):
    w = torch.ones(3, requires_grad=True)
    page = show(debug.step_through(lambda: (w * 2).sum(), names={"w": w}))
    assert page.run("sliders") is None
    page.run("stepPlayer.go(2)")
    assert "T" in page.run("document.querySelector('.chain math').textContent"), (
        "a Jacobian, transposed"
    )


def test_numbers_are_written_as_the_engine_writes_them(show):
    f, names = small()
    page = show(debug.step_through(f, names=names))
    values = [
        0.0,
        1.0,
        -0.25,
        1234.56,
        12345.6,
        0.00012344,
        0.000012344,
        9.9996,
        1e100,
        -3.3e-12,
        99996.0,
        1 / 3,
    ]
    assert page.run(f"{values}.map(v => shortNumber(v))") == [f"{v:.4g}" for v in values]


def test_presenting(show):
    f, names = small()
    page = show(debug.step_through(f, names=names))
    small_type = page.run(
        "[graphView.scale, parseFloat(getComputedStyle(document.querySelector('aside')).fontSize)]"
    )
    page.key("p", "p")
    page.frame()
    page.frame()
    large_type = page.run(
        "[graphView.scale, parseFloat(getComputedStyle(document.querySelector('aside')).fontSize)]"
    )
    assert large_type[1] >= 20 > small_type[1] and large_type[0] > small_type[0]
    assert page.run("stepPlayer.presentButton.getAttribute('aria-pressed')") == "true"
    page.key("p", "p")
    assert page.run("document.body.classList.contains('present')") is False


def test_a_step_opens_the_module_it_is_in(show):
    model = nn.Sequential(*[Block() for _ in range(2)])
    page = show(debug.step_through(lambda: model(torch.ones(2, 6)).mean(), names=model))
    page.run("graphView.setOpen([])")
    page.run("stepPlayer.go(1)")
    assert page.run("graphView.layout.shown[graphView.current].kind") == "box"


def test_scalar_values_are_played_by_the_same_page(show):
    x = Value(2.0, label="x")
    page = show(debug.step_through(x * x))
    page.key("End")
    assert page.run("document.querySelector('aside h2').textContent") == "x"
    assert "4" in page.run("document.querySelector('.sum').innerText")


# ---- charts and reports ------------------------------------------------------------------------
def report(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import torch\nx = torch.ones(2)  # <b>&\nloss = x.sum()\n", encoding="utf-8")
    kinds = ("error", "warning", "warning")
    findings = [
        {
            "rule": "PL1",
            "name": "one",
            "severity": s,
            "file": str(script),
            "line": k + 1,
            "message": EVIL,
            "evidence": {EVIL: EVIL},
            "fix": EVIL,
        }
        for k, s in enumerate(kinds)
    ]
    f, names = small()
    costs = [
        ("mul", str(script), 2, 10, 0.001, 100),
        ("add", str(script), 3, 5, 0.3, 5000),
        ("exp", str(script), 3, 50, 0.02, 1),
    ]
    norms = {
        name: [(k, 1.0 + i + k) for k in range(20)] for i, name in enumerate(("a", "b", "c", "d"))
    }
    return debug.Report(
        "check",
        EVIL,
        str(script),
        findings,
        [(k, 2.0 / (k + 1)) for k in range(20)],
        norms,
        costs=costs,
        graph=f,
        names=names,
    )


def test_the_report(show, tmp_path):
    page = show(report(tmp_path))
    assert (
        page.run("document.querySelectorAll('article').length") == 3
        and page.run("document.title") == "check"
    )
    assert (
        page.run("graphView.layout.boxes.length") == 4
        and page.run("document.querySelectorAll('img').length") == 0
    )
    page.click_on(".filters button[data-severity=warning]")
    shown = "[...document.querySelectorAll('article')].filter(a => a.offsetParent).length"
    assert page.run(shown) == 1
    page.click_on(".filters button[data-severity=warning]")
    assert page.run(shown) == 3


def test_histograms_are_not_smoothed(show, tmp_path):
    rows = [(step, [0.0, 1.0, 2.0], [1, 2]) for step in (0, 1)]
    made = report(tmp_path)
    made.histograms = {"weight": rows}
    page = show(made)
    page.run("document.querySelector('.smoothing input').value = 0.9")
    page.run("document.querySelector('.smoothing input').dispatchEvent(new Event('input'))")
    smooth = "document.querySelectorAll('#{} .smooth').length"
    assert page.run(smooth.format("training")) > 0 and page.run(smooth.format("histograms")) == 0


def test_tables_are_sorted_by_a_click(show, tmp_path):
    page = show(report(tmp_path))
    order = (
        "[...document.querySelectorAll('#operations tbody tr')].map(r => r.cells[0].textContent)"
    )
    assert page.run(order) == ["add", "exp", "mul"], "the slowest first"
    page.run("document.querySelector('#operations').scrollIntoView()")
    page.click_on("#operations th:nth-child(2) button")
    assert page.run(order) == ["exp", "mul", "add"]
    page.click_on("#operations th:nth-child(2) button")
    assert page.run(order) == ["add", "mul", "exp"]
    page.click_on("#operations th:nth-child(1) button")
    assert page.run(order) == ["add", "exp", "mul"]
    assert (
        page.run("document.querySelector('#operations th').getAttribute('aria-sort')")
        == "ascending"
    )


def test_a_chart_tells_the_values_under_the_pointer(show, tmp_path):
    page = show(report(tmp_path))
    page.run("document.querySelectorAll('figure')[1].scrollIntoView()")
    x, y, w, h = page.run(
        "(() => { const r = document.querySelectorAll('figure svg')[1].getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()"
    )
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + w / 2, y=y + h / 3)
    page.frame()
    tip = page.run("document.querySelector('.tip').innerText").splitlines()
    assert tip[0].startswith("step ") and len(tip) == 5
    step = int(tip[0].split()[1])
    assert sorted(tip[1:]) == [f"{name}: {1 + i + step}" for i, name in enumerate("abcd")]
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
    assert page.run("document.querySelector('.tip').hidden")
    key = page.run(
        "(() => { const r = document.querySelectorAll('figure')[1].querySelector('g.legend').getBoundingClientRect(); return [r.x + 5, r.y + 5]; })()"
    )
    page.click(*key)
    assert (
        page.run(
            "document.querySelectorAll('figure')[1].querySelector('g[data-series=\"0\"]:not(.legend)').style.display"
        )
        == "none"
    )


def test_lines_can_be_smoothed(show, tmp_path):
    page = show(report(tmp_path))
    before = page.run("document.querySelector('figure polyline').getAttribute('points')")
    page.run(
        "(() => { const s = document.querySelector('.smoothing input'); s.value = 0.5; s.dispatchEvent(new Event('input')); })()"
    )
    assert (
        page.run("document.querySelectorAll('figure')[0].querySelectorAll('.smooth').length") == 1
    )
    assert page.run("document.querySelector('figure polyline').getAttribute('points')") == before, (
        "what was measured stays"
    )
    line = page.run(
        "document.querySelector('.smooth').getAttribute('points').split(' ').map(p => p.split(',').map(Number))"
    )
    raw = [tuple(map(float, p.split(","))) for p in before.split()]
    assert len(line) == len(raw) == 20 and line[0] == pytest.approx(raw[0], abs=0.2)
    assert line[1][1] == pytest.approx((raw[0][1] * 0.25 + raw[1][1] * 0.5) / 0.75, abs=0.2), (
        "of logarithms"
    )
    page.run(
        "(() => { const s = document.querySelector('.smoothing input'); s.value = 0; s.dispatchEvent(new Event('input')); })()"
    )
    assert page.run("document.querySelectorAll('.smooth').length") == 0


def test_the_report_of_a_real_check(chromium, tmp_path):
    with watching(measures=True) as result:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        x, y = torch.randn(16, 4), torch.randn(16)
        for _ in range(5):
            loss = ((model(x) - y) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    path = write(tmp_path / "check.html", check_report(result))
    chromium.open(path)
    assert chromium.errors == [] and chromium.requests == [f"file://{path}"]
    assert (
        chromium.run("document.querySelector('article h3').innerText")
        == "error PL101 mutual-broadcast"
    )
    assert "loss = ((model(x) - y) ** 2).mean()" in chromium.run(
        "document.querySelector('article .hit').innerText"
    )
    assert chromium.run("document.querySelectorAll('#training figure').length") == 4
    assert chromium.run("document.querySelectorAll('#histograms figure').length") == 2 * 4
    assert chromium.run("document.querySelectorAll('#activations figure').length") == 3
    assert chromium.run("graphView.data.nodes.filter(n => n.n === 'linear').length") == 2
    assert "linear" in chromium.run("document.querySelector('#operations tbody').innerText")


def test_data_is_what_was_given(show):
    """The data of a page comes back as it was, whatever characters are in it."""
    x = torch.ones((), requires_grad=True)
    drawing = debug.draw(x * 2, names={EVIL: x})
    page = show(drawing)
    name = page.run("JSON.parse(document.getElementById('data').textContent).graph.nodes[0].n")
    assert name == EVIL and json.loads(json.dumps(name)) == next(iter(drawing.graph.nodes())).name
