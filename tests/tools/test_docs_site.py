"""The documentation: the reference covers what is registered, links hold, and the site's parts fit.
HTML is made by `make docs`.
"""

from __future__ import annotations

import builtins
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import pellucid as torch
from pellucid import nn
from pellucid.core.primitive import PRIMITIVES
from pellucid.core.public import FUNCTIONS, METHODS
from pellucid.onnx.writer import supported_operations

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tools" / "docs"

sys.path.insert(0, str(TOOLS))
try:
    import docstrings
    import reference
    import website
finally:
    sys.path.pop(0)

# tests may register others
OWN = {name for name in PRIMITIVES if not name.startswith("gudermannian")}


def test_a_sentence_of_a_section_may_go_on_in_the_next_line():
    text = """Sort.

    Returns:
        A named tuple of values and
        indices.

    Raises:
        ValueError: no tensors. IndexError: a dimension that
        is not there.
    """
    lines = [line for line in docstrings.docstring(text) if line.startswith("- ")]
    assert lines == [
        "- A named tuple of values and indices.",
        "- `ValueError`: no tensors.",
        "- `IndexError`: a dimension that is not there.",
    ]


@pytest.fixture(scope="module")
def entries():
    return reference.entries()


@pytest.fixture(scope="module")
def pages():
    # finding errors takes its time: a few pages have them below
    return reference.pages(errors=False)


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    staged = website.Stage(ROOT, tmp_path_factory.mktemp("site") / "pages")
    staged.build(run=False)
    return staged


class TestReference:
    def test_every_function_and_method_has_an_entry(self, entries):
        listed = {name for entry in entries for name in [*entry.names, *entry.inplace]}
        functions = {
            f"{space}.{name}"
            for space in reference.SPACES
            for name, function in FUNCTIONS[space].items()
            if callable(function) and not isinstance(function, type) and not name.startswith("_")
        }
        # in-place forms stand with their methods
        missing = {name for name in functions - listed if not name.endswith("_")}
        assert missing == set()
        assert {name for name in METHODS if not name.startswith("_")} <= {
            n.removeprefix("Tensor.") for n in listed
        }

    def test_the_operation_table_promises_the_exports_that_there_are(self, pages):
        rows = re.findall(
            r'^\| <a id="op-[\w-]+"></a>`(\w+)` \|(.*)\|$', pages["operations.md"], re.MULTILINE
        )
        promised = {
            name for name, rest in rows if rest.replace("\\|", "").split("|")[-2].strip() != "-"
        }
        assert promised & OWN == set(supported_operations()) & OWN
        assert "`Gemm`, `Transpose`, `MatMul`, `Add`" in dict(rows)["linear"]

    def test_every_entry_is_on_a_page_once(self, entries, pages):
        text = "\n".join(pages.values())
        places = re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
        assert len(places) == len(set(places))
        assert {entry.anchor for entry in entries} <= set(places)
        assert len(entries) > 700

    def test_facts_of_one(self, entries, pages):
        section = pages["torch-mul.md"]
        assert (
            "# torch.mul\n" in section
            and "[Arithmetic and rounding](html:arithmetic.html)" in section
        )
        assert "| Formula | `out = input * other` |" in section
        assert "torch.mul(input: Tensor | Number, other: Tensor | Number, *, out" in section
        assert "Also: `torch.multiply`" in section and "In place: `Tensor.mul_`" in section
        assert "| Gradient for | `input`, `other` |" in section and "| ONNX | `Mul` |" in section
        assert "`(2, 1, 3), (4, 1) → (2, 4, 3)`" in section
        assert re.search(r"\| Gradient .* \| `input`: `g \* .*`<br>`other`: `g \* .*` \|", section)
        assert ">>> torch.mul(torch.tensor([1.0, 2.0]), 3)\ntensor([3., 6.])" in section
        path, line = re.search(r"source:(\S+)#L(\d+)", section).groups()
        assert '"mul' in "".join(
            (ROOT / path)
            .read_text(encoding="utf-8")
            .splitlines(keepends=True)[int(line) - 1 : int(line) + 2]
        )

    def test_element_types_and_what_else_the_root_holds(self, pages):
        assert "| `float32` | `float` | 4 | floating point |" in pages["types.md"]
        assert "| `bool` | - | 1 | truth value |" in pages["types.md"]
        assert (
            "## torch.finfo" in pages["types.md"]
            and "## torch.promote\\_types" in pages["types.md"]
        )
        assert (
            "See also: [`nn.functional.relu`](html:nn-functional-relu.html)"
            in pages["torch-relu.md"]
        )

    def test_a_class_has_its_parameters_and_what_it_calls(self, pages):
        linear = pages["nn-linear-class.md"]
        assert (
            "| Parameters and buffers | `weight`: `(out_features, in_features)`<br>`bias`: `(out_features,)` |"
            in linear
        )
        assert (
            "[`nn.functional.linear`](html:nn-functional-linear.html)" in linear
            and "[`nn.Linear`]" in pages["nn-functional-linear.md"]
        )
        assert "`weight_ih`: `(3 * hidden_size, input_size)`" in pages["nn-grucell-class.md"]
        relu = pages["nn-relu-class.md"]
        assert (
            "tensor([[0.0000, 0.5000]," in relu
            and "| Formula | `out = maximum(0, input)` |" in relu
        )

    def test_lists_lead_to_the_pages(self, pages):
        for name in ("activation.md", "nn.md", "optim.md", "loss.md"):
            goals = re.findall(r"\]\(html:([\w-]+)\.html\) \|", pages[name])
            assert len(goals) > 5 and {f"{goal}.md" for goal in goals} <= set(pages)
            for goal in goals:
                assert pages[f"{goal}.md"].startswith(f"---\norphan: true\n---\n\n({goal})=\n# ")

    @pytest.mark.parametrize(
        ("name", "forward", "gradients"),
        [
            (
                "hypot",
                "hypot(input, other)",
                {"input": "g * (input / out)", "other": "g * (other / out)"},
            ),
            ("tanh", "tanh(input)", {"input": "g * (1 - out * out)"}),
            (
                "squared_difference",
                "(input - target) ** 2",
                {"input": "g * 2.0 * (input - target)", "target": "g * 2.0 * (target - input)"},
            ),
            ("sub", "input - other", {"input": "g", "other": "-g"}),
            ("matmul", None, None),
        ],
    )
    def test_formulas(self, name, forward, gradients):
        op = PRIMITIVES[name]
        assert reference.formulas.forward(op) == forward
        assert gradients is None or reference.formulas.gradients(op) == gradients

    def test_formulas_compute_what_the_operation_computes(self):
        """Those that are plain Python: evaluated, they give the operation's result."""
        tried = 0
        for name in OWN:
            op = PRIMITIVES[name]
            text = reference.formulas.forward(op)
            if (
                text is None
                or op.samples is None
                or len(op.args) > 2
                or re.search(r"[a-z]\w*\(|\|", text)
            ):
                continue
            for sample in op.samples(np.random.default_rng(0)):
                if (
                    sample.error is None
                    and not sample.params
                    and all(isinstance(a, np.ndarray) and a.dtype.kind == "f" for a in sample.args)
                ):
                    names = dict(zip(op.args, sample.args, strict=True))
                    if len(names) == len(op.args) and set(re.findall(r"[a-z]\w*", text)) <= set(
                        names
                    ):
                        np.testing.assert_allclose(
                            eval(text, {}, names),
                            op.call(*map(torch.tensor, sample.args)).numpy(),
                            rtol=1e-5,
                        )
                        tried += 1
        assert tried > 20

    def test_every_operation_is_in_the_table(self, pages):
        rows = re.findall(
            r"^\| <a id=\"op-[\w-]+\"></a>`(\w+)` \|", pages["operations.md"], re.MULTILINE
        )
        assert OWN <= set(rows) and len(rows) == len(set(rows))

    def test_sources_exist_and_have_these_lines(self, pages):
        places = {
            (p, int(n))
            for text in pages.values()
            for p, n in re.findall(r"source:([^)#]+)#L(\d+)", text)
        }
        lengths = {p: len((ROOT / p).read_text(encoding="utf-8").splitlines()) for p, _ in places}
        assert len(places) > 900
        assert [place for place in places if not 1 <= place[1] <= lengths[place[0]]] == []

    def test_functions_have_examples(self, entries):
        without = [e.names[0] for e in entries if ">>>" not in (e.function.__doc__ or "")]
        assert without == []

    def test_errors_are_those_of_the_calls_shown(self, entries):
        by_name = {e.names[0]: e for e in entries}
        text = "\n".join(reference.function_text(by_name["torch.cat"]))
        assert (
            "**Errors**" in text
            and "`RuntimeError`: `Sizes of tensors must match except in dimension 0." in text
        )
        text = "\n".join(reference.function_text(by_name["torch.sum"]))
        assert "`IndexError`: `Dimension out of range (expected to be in range of [" in text
        text = "\n".join(reference.class_text(nn.Linear, "nn.Linear"))
        assert (
            "`torch.nn.Linear(4, 6)(torch.ones(5))` | `RuntimeError`: `mat1 and mat2 shapes cannot be multiplied (1x5 and 4x6)`"
            in text
        )
        for call, error, message in reference.mistakes.of_layer(nn.Conv2d):
            with pytest.raises(getattr(builtins, error)) as caught:
                eval(call, {"torch": torch})
            assert str(caught.value).startswith(message.removesuffix("..."))

    @pytest.mark.parametrize(
        ("text", "markdown"),
        [
            ("`a * b` and a_b", r"`a * b` and a\_b"),
            (":func:`exp` of x", "`exp` of x"),
            ("sizes < 3 [N]", r"sizes \< 3 \[N\]"),
            ("an ` alone", r"an \` alone"),
        ],
    )
    def test_prose(self, text, markdown):
        assert reference.prose(text) == markdown

    def test_long_signatures_have_an_argument_a_line(self):
        def function(
            first: int,
            second: dict[str, int],
            *,
            third: tuple[int, str] | None = (1, "a, b"),
            fourth: str = "",
        ) -> None:
            """Do nothing."""

        assert reference.signature_lines(function, "torch.function")[1:-2] == [
            "torch.function(",
            "    first: int,",
            "    second: dict[str, int],",
            "    *,",
            "    third: tuple[int, str] | None = (1, 'a, b'),",
            "    fourth: str = '',",
            ") -> None",
        ]
        assert reference.signature_lines(lambda x: x, "f")[1] == "f(x)"

    def test_docstring(self):
        doc = """One sentence.

        More of it,
        on two lines.

        Args:
            a, b: numbers, which
                go on here.
            *c: others.

        Raises:
            ValueError: never.

        >>> 1 + 1
        2
        >>> for k in ():
        ...     pass
        """
        assert "\n".join(reference.docstring(doc)).strip().split("\n\n") == [
            "One sentence.",
            "More of it, on two lines.",
            "**Arguments**",
            "- `a`, `b`: numbers, which go on here.\n- `*c`: others.",
            "**Raises**",
            "- `ValueError`: never.",
            "```python\n>>> 1 + 1\n2\n>>> for k in ():\n...     pass\n```",
        ]


class TestStage:
    def test_all_documents_are_pages(self, stage):
        documents = {
            p.relative_to(ROOT / "docs").with_suffix(".md")
            for p in (ROOT / "docs").rglob("*")
            if p.suffix in (".md", ".ipynb")
        }
        staged = {p.relative_to(stage.folder) for p in stage.folder.rglob("*.md")}
        assert {Path("overview.md") if p == Path("README.md") else p for p in documents} <= staged
        assert {Path("index.md"), Path("gallery.md")} <= staged
        assert {
            Path("about.md"),
            Path("contributing.md"),
            Path("examples.md"),
            Path("reference/index.md"),
        } <= staged

    def test_every_page_is_in_the_contents(self, stage):
        listed, alone, staged = [], set(), set()
        for path in stage.folder.rglob("*.md"):
            text, name = path.read_text(encoding="utf-8"), path.relative_to(stage.folder)
            staged.add(name.with_suffix("").as_posix())
            if text.startswith("---\norphan: true"):
                alone.add(name.with_suffix("").as_posix())
            for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL):
                listed += [
                    (name.parent / re.sub(r".*<(.*)>", r"\1", line)).as_posix()
                    for line in block.split("\n\n", 1)[1].splitlines()
                ]
        assert staged - set(listed) - alone == {"index"} and len(listed) == len(set(listed)) < 250
        assert {name.split("/")[0] for name in alone} == {"reference"}
        index = (stage.folder / "index.md").read_text(encoding="utf-8")
        assert "checks/index\n" in index and "checks/missing" not in index, (
            "rules are folded into their list"
        )

    def test_links_inside_the_reference_have_their_places(self, stage):
        places = {}
        for path in (stage.folder / "reference").glob("*.md"):
            text = path.read_text(encoding="utf-8")
            places[path.stem] = {
                *re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE),
                *re.findall(r'<a id="([\w-]+)">', text),
                "",
            }
        for path in (stage.folder / "reference").glob("*.md"):
            for page, _, place in re.findall(
                r'href="(\w[\w-]*)\.html(#([\w-]+))?"', path.read_text(encoding="utf-8")
            ):
                assert place in places[page], f"{path.name}: {page}.html#{place}"

    def test_a_tutorial(self, stage):
        text = (stage.folder / "tutorials" / "01_tensors_and_shapes.md").read_text(encoding="utf-8")
        assert text.startswith("# Tensors and shapes")
        assert "```{code-block} python\nimport pellucid as torch" in text
        assert ":class: output\n\ntorch.Size([2, 3]) torch.float32 cpu\n```" in text
        assert text.count('class="turn"') == text.count("<summary>Solution</summary>") >= 3
        assert 'class="engine"' in text
        assert (stage.extra / "tutorials" / "01_tensors_and_shapes.ipynb").is_file()

    def test_checks(self, tmp_path):
        folder = tmp_path / "docs" / "checks"
        folder.mkdir(parents=True)
        (folder / "a-b.md").write_text(
            "# Some bug (a-b, PL1)\n\nThis | that, on\ntwo lines. More.\n\n## How to fix it\n\nNone.\n"
        )
        staged = website.Stage(tmp_path, tmp_path / "pages")
        assert (
            staged.check_list().strip().splitlines()[-1]
            == r"| [Some bug](a-b.md)<br>`a-b` PL1 | This \| that, on two lines. More. | |"
        )

    def test_pictures(self, stage):
        still = stage.picture(
            '<div style="x"><svg xmlns="s">\n\n</svg></div>', "one", "tutorials/a.md"
        )
        assert (
            still
            == '<div class="picture"><img src="pictures/one.svg" alt="computation graph"></div>'
        )
        assert (
            stage.extra / "tutorials" / "pictures" / "one.svg"
        ).read_text() == '<svg xmlns="s">\n\n</svg>'
        frame = stage.picture('<iframe srcdoc="&lt;svg\n\n\n>"></iframe>', "two", "tutorials/a.md")
        assert frame == '<div class="picture"><iframe srcdoc="&lt;svg\n>"></iframe></div>'

    @pytest.mark.parametrize(
        ("text", "origin", "target", "expected"),
        [
            (
                "[a](architecture.md#layers)",
                "docs/README.md",
                "index.md",
                "[a](architecture.md#layers)",
            ),
            ("[a](../CONTRIBUTING.md)", "docs/debug.md", "debug.md", "[a](contributing.md)"),
            ("[a](docs/debug.md)", "README.md", "about.md", "[a](debug.md)"),
            ("[`a`](../../README.md)", "docs/checks/x.md", "checks/x.md", "[`a`](../about.md)"),
            (
                "[b](tutorials/09_nan_hunting.ipynb)",
                "docs/README.md",
                "index.md",
                "[b](tutorials/09_nan_hunting.md)",
            ),
            (
                "[c](https://example.org/a_b)",
                "README.md",
                "about.md",
                "[c](https://example.org/a_b)",
            ),
            ("[d_e](LICENSE)", "README.md", "about.md", '<a href="source/LICENSE.html">d_e</a>'),
            (
                "[`f`](source:pellucid/errors.py#L3)",
                "x",
                "a/b.md",
                '<a href="../source/pellucid/errors.py.html#L-3"><code>f</code></a>',
            ),
            ("[`g`](html:b.html#c)", "x", "a/b.md", '<a href="b.html#c"><code>g</code></a>'),
            ("`x[0](missing.md)`", "docs/debug.md", "debug.md", "`x[0](missing.md)`"),
            ("see [examples/](examples/)", "README.md", "about.md", "see [examples/](examples.md)"),
            (
                "[a\nb](tutorials/09_nan_hunting.ipynb)",
                "docs/compiler.md",
                "compiler.md",
                "[a\nb](tutorials/09_nan_hunting.md)",
            ),
        ],
    )
    def test_links(self, text, origin, target, expected, tmp_path):
        staged = website.Stage(ROOT, tmp_path)
        assert staged.links(text, origin, target) == expected + "\n" and staged.broken == []

    def test_images_are_copied(self, tmp_path):
        (tmp_path / "images").mkdir()
        (tmp_path / "images" / "one.svg").write_text("<svg/>")
        (tmp_path / "pages").mkdir()
        staged = website.Stage(tmp_path, tmp_path / "pages")
        assert (
            staged.links("![one](../images/one.svg)", "docs/a.md", "sub/a.md")
            == "![one](../images/one.svg)\n"
        )
        assert (
            tmp_path / "pages" / "images" / "one.svg"
        ).read_text() == "<svg/>" and staged.broken == []
        staged.links("![two](two.svg)", "a.md", "a.md")
        assert staged.broken == ["a.md: ![two](two.svg)"]

    def test_code_is_left_alone(self, tmp_path):
        staged = website.Stage(ROOT, tmp_path)
        text = "````text\n```\n[a](nowhere.md)\n````\n"
        assert staged.links(text, "README.md", "about.md") == text and staged.broken == []

    def test_a_broken_link_ends_the_build(self, tmp_path, monkeypatch):
        (tmp_path / "docs").mkdir()
        (tmp_path / "examples").mkdir()
        (tmp_path / "docs" / "README.md").write_text("# A\n\n[away](nowhere.md)\n")
        monkeypatch.setattr(website.reference, "pages", lambda errors: {})
        with pytest.raises(website.BrokenLinks, match=r"docs/README.md: \[away\]\(nowhere.md\)"):
            website.Stage(tmp_path, tmp_path / "pages").build(run=False)


class TestCheck:
    """The check of the finished HTML finds what it should."""

    @pytest.fixture
    def site(self, tmp_path):
        (tmp_path / "a.html").write_text(
            '<h1 id="top">A</h1><a href="b.html#here">b</a><a href="https://example.org">out</a>'
        )
        (tmp_path / "b.html").write_text(
            '<p id="here"><a href="a.html#top">a</a><img src="data:image/png;base64,x">'
        )
        return tmp_path

    def test_nothing_is_wrong(self, site):
        assert website.check(site) == []

    @pytest.mark.parametrize(
        ("html", "found"),
        [
            ('<a href="c.html">', "c.html: c.html#x"),
            ('<a href="d.html">', "c.html: d.html does not exist"),
            ('<a href="a.html#no">', "c.html: a.html#no has no such place"),
            ('<a href="#no">', "c.html: #no has no such place"),
            (
                '<script src="https://example.org/x.js"></script>',
                "c.html: <script> loads https://example.org/x.js",
            ),
            ('<link href="//example.org/x.css">', "c.html: <link> loads //example.org/x.css"),
            ('<img src="x.png">', "c.html: x.png does not exist"),
        ],
    )
    def test_what_is_wrong(self, site, html, found):
        (site / "c.html").write_text(html)
        assert website.check(site) == ([] if "c.html: c.html" in found else [found])

    def test_style_sheets(self, site):
        (site / "s.css").write_text(
            '@import "https://example.org/font.css"; p { background: url(data:x) }'
        )
        assert website.check(site) == ["s.css: loads https://example.org/font.css"]


def test_every_document_is_reached_from_the_index():
    folder = ROOT / "docs"
    found, waiting = set(), [folder / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        if path.suffix == ".md":
            goals = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
            places = [
                g
                for g in ((path.parent / goal).resolve() for goal in goals)
                if g.is_relative_to(folder) and g != folder
            ]
            waiting += [p for g in places for p in ([g] if g.is_file() else g.glob("*.md"))]
    documents = {p for p in folder.rglob("*") if p.suffix in (".md", ".ipynb")}
    assert {p.relative_to(ROOT).as_posix() for p in documents - found} == set(), (
        "link these from docs/README.md or a page it leads to"
    )


class TestGallery:
    def test_programs_are_whole(self):
        """Each program of the gallery is what a reader would write: it runs by itself."""
        for name in website.gallery.PAGES:
            source = website.gallery.program_of(name)
            compile(source, name, "exec")
            assert "path" not in source and "return page" not in source
            title, about = website.gallery.title_of(name)
            assert title and about.endswith(".")

    def test_a_program_makes_its_page(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        exec(compile(website.gallery.program_of("chain-rule"), "chain.py", "exec"), {})
        assert "stepPlayer" in (tmp_path / "chain-rule.html").read_text(encoding="utf-8")

    def test_nothing_tells_where_it_was_built(self, tmp_path, monkeypatch):
        kept = {name: website.gallery.PAGES[name] for name in ("chain-rule", "check-report")}
        monkeypatch.setattr(website.gallery, "PAGES", kept)
        website.gallery.build(tmp_path)
        made = sorted(p.name for p in tmp_path.iterdir())
        assert made == [
            "chain-rule.html",
            "chain-rule.svg",
            "check-report.html",
            "check-report.svg",
            "planted.py",
        ]
        for path in tmp_path.iterdir():
            text = path.read_text(encoding="utf-8")
            assert f"{tmp_path}/" not in text and f"{ROOT}/" not in text, path.name
        assert "PL101" in (tmp_path / "check-report.svg").read_text(encoding="utf-8")

    def test_the_page_lists_all(self, stage):
        text = (stage.folder / "gallery.md").read_text(encoding="utf-8")
        for name in website.gallery.PAGES:
            assert f'href="gallery/{name}.html"' in text

    def test_the_output_of_a_program_as_a_picture_is_escaped(self):
        svg = website.gallery.terminal("<b>&\n\nsecond")
        assert "&lt;b&gt;&amp;" in svg and svg.count("<text") == 2


def test_the_landing_page_says_the_commands(stage):
    text = (stage.folder / "index.md").read_text(encoding="utf-8")
    for command in (
        "$ pellucid run train.py",
        "$ pellucid check train.py",
        "$ pellucid explain",
        "pip install .",
    ):
        assert command in text


def test_texts_for_excerpts(tmp_path):
    (tmp_path / "a.html").write_text(
        "<body><nav>not this</nav><article><h1>Title</h1><script>nor this</script><p>a &lt; <span>b</span>.c</p></article>"
    )
    (tmp_path / "search.html").write_text("<article>no</article>")
    assert website.texts(tmp_path) == 'const PAGE_TEXTS = {"a":"Title a \\u003c b.c"};\n'


def test_operations_are_found_while_functions_ask_other_classes():
    function = FUNCTIONS["nn.functional"]["relu"]
    before = reference.records_of(function)

    class Other:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return 1

    assert nn.functional.relu(Other()) == 1
    assert [op.name for op in before] == ["relu"] and reference.records_of(function) == before
