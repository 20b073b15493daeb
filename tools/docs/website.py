"""Build the documentation as a static site that needs no network to be read.

    python tools/docs/website.py build/docs

The pages are a landing page and a gallery (`landing.py`, `gallery.py`), all of docs/ (Markdown as
it is, tutorials with the outputs and pictures of a run made now), README, CONTRIBUTING, the
examples, the API reference of `reference.py`, and the source files that pages link to. Links that
lead nowhere end the build, and so does anything that a page would load from another host.

Sphinx with the theme furo makes HTML of them: both are kept well, their search works without a
server, and furo loads nothing from elsewhere. Everything before that, `stage`, needs only Pellucid,
and is what the tests run.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS))

import gallery  # noqa: E402  (beside this file)
import landing  # noqa: E402
import notebooks  # noqa: E402
import reference  # noqa: E402

PAGES = {
    "README.md": "about.md",
    "CONTRIBUTING.md": "contributing.md",
    "docs/README.md": "overview.md",
}
# The pages for users, in the order of the sidebar; all others are about how Pellucid works inside.
GUIDES = [
    f"{name}.md"
    for name in (
        "debug",
        "explain",
        "check",
        "errors",
        "compiler",
        "distributed",
        "fx",
        "onnx",
        "missing",
        "benchmarks",
        "examples",
    )
]
FAMILIES = {
    "PL1": "Shapes and dtypes",
    "PL2": "Losses and labels",
    "PL3": "Gradients and optimizer steps",
    "PL4": "Train and eval mode",
    "PL5": "Parameters",
    "PL6": "Values",
    "PL7": "Memory",
    "PL8": "Randomness",
    "PL9": "Data",
    "D0": "Distributed training",
}
FENCE = re.compile(r"^(`{3,}|~{3,})")
IMAGE = re.compile(r"!\[([^\[\]]*)\]\(([^()\s]+)\)")
LINK = re.compile(r"(?<!!)\[((?:[^\[\]`]|`[^`]*`|\[[^\]]*\])*)\]\(([^()\s]+)\)")


class BrokenLinks(Exception):
    """Links that lead nowhere, one per line."""


class Stage:
    """The pages of the site as Markdown in a folder, ready for Sphinx."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        self.extra = folder / "_extra"
        self.sources: set[str] = set()
        self.broken: list[str] = []
        # Where the files of the repository that are pages stand in the site.
        self.pages = {name: target for name, target in PAGES.items() if (root / name).exists()}
        for path in sorted((root / "docs").rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix == ".md" and name not in self.pages:
                self.pages[name] = name.removeprefix("docs/")
            elif path.suffix == ".ipynb":
                self.pages[name] = name.removeprefix("docs/").replace(".ipynb", ".md")
        self.pages["examples"] = "examples.md"
        self.checks = sorted((root / "docs" / "checks").glob("*.md"))
        if self.checks:
            self.pages["docs/checks"] = "checks/index.md"
        self.lessons = sorted(
            t.removeprefix("tutorials/") for t in self.pages.values() if t.startswith("tutorials/")
        )
        if self.lessons:
            self.pages["docs/tutorials"] = "tutorials/index.md"

    def build(self, run: bool = True) -> None:
        """Write all pages. Without `run`, tutorials show their stored outputs, and no pictures;
        functions, no errors.

        Raises:
            BrokenLinks: links to files or parts of the site that do not exist.
        """
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("_static", "_extra"):
            (self.folder / name).mkdir(parents=True)
        shutil.copy(TOOLS / "pellucid.css", self.folder / "_static")
        shutil.copy(TOOLS / "excerpts.js", self.folder / "_static")
        for name in ("conf.py", "scorer.js"):
            shutil.copy(TOOLS / name, self.folder)
        for name, target in self.pages.items():
            path = self.root / name
            if path.suffix == ".md":
                text = path.read_text(encoding="utf-8")
                self.write(target, self.links(text, name, target))
            elif path.suffix == ".ipynb":
                self.write(target, self.links(self.tutorial(path, target, run), name, target))
        self.write("index.md", landing.page(run) + self.contents())
        self.write("gallery.md", gallery.page())
        if run:
            gallery.build(self.extra / "gallery")
        if self.lessons:
            self.write("tutorials/index.md", self.lesson_list() + self.tree("", self.lessons))
        self.write("examples.md", self.links(self.examples(), "examples/README.md", "examples.md"))
        if self.checks:
            below = self.tree("", [f"{path.stem} <{path.stem}>" for path in self.checks])
            self.write(
                "checks/index.md",
                self.links(self.check_list(), "docs/checks/README.md", "checks/index.md") + below,
            )
        for name, text in reference.pages(errors=run).items():
            below = "".join(self.tree(*listed) for listed in reference.lists(name))
            self.write(
                f"reference/{name}",
                self.links(text, f"docs/reference/{name}", f"reference/{name}") + below,
            )
        if self.broken:
            raise BrokenLinks("\n".join(self.broken))

    def write(self, target: str, text: str) -> None:
        path = self.folder / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    # ---- pages that are put together ---------------------------------------------------------
    @staticmethod
    def tree(caption: str, targets: Sequence[str]) -> str:
        """Pages that hang under another one: in the sidebar they are folded into it, under the
        index they stand open.
        """
        lines = ["", "```{toctree}", ":hidden:", *([f":caption: {caption}"] if caption else []), ""]
        return (
            "\n".join([*lines, *(t.removesuffix(".md") for t in targets), "```", ""])
            if targets
            else ""
        )

    def contents(self) -> str:
        """The site's table of contents, for the index page."""

        targets = list(self.pages.values())
        listed = {"about.md", "overview.md", "contributing.md", *GUIDES}
        internals = sorted(t for t in targets if "/" not in t and t not in listed)
        internals += sorted(
            t for t in targets if "/" in t and t.split("/")[0] not in ("tutorials", "checks")
        )
        return "".join(
            [
                self.tree(
                    "Start",
                    [*(t for t in ("about.md", "overview.md") if t in targets), "gallery.md"],
                ),
                self.tree(
                    "Guides",
                    [
                        *(["tutorials/index.md"] if self.lessons else []),
                        *(t for t in GUIDES if t in targets),
                    ],
                ),
                self.tree(
                    "Look up", [*(["checks/index.md"] if self.checks else []), "reference/index.md"]
                ),
                self.tree(
                    "Internals", [*internals, *(t for t in targets if t == "contributing.md")]
                ),
            ]
        )

    def examples(self) -> str:
        lines = [
            "# Examples",
            "",
            "Written as their authors would write them for PyTorch, and run unmodified: `pellucid run NAME.py`.",
            "",
        ]
        for path in sorted((self.root / "examples").glob("*.py")):
            about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            lines.append(
                f"- [`{path.name}`]({path.name}): {' '.join(about.split(chr(10) * 2)[0].split())}"
            )
        return "\n".join([*lines, ""])

    def lesson_list(self) -> str:
        """All tutorials, each with the question that it begins with."""
        lines = ["# Tutorials", "", "Each is a page here and a notebook that runs in Jupyter.", ""]
        for name in self.lessons:
            path = self.root / "docs" / "tutorials" / name.replace(".md", ".ipynb")
            title, _, about = notebooks.Notebook(path).cells[0].source.partition("\n")
            question = re.match(r'\s*(\*".*?"\*)', about, re.DOTALL)
            first = " ".join(question[1].split()) if question else ""
            lines.append(f"- [{title.removeprefix('# ')}]({name}) {first}".rstrip())
        return "\n".join([*lines, ""])

    def check_list(self) -> str:
        """All rules of `pellucid check` by family, each with what its page says first."""
        from pellucid.check import all_rules

        severity = {rule.slug: rule.severity for rule in all_rules()}
        found: dict[str, list[str]] = {}
        for path in self.checks:
            head, about = path.read_text(encoding="utf-8").split("\n\n")[:2]
            title, _, names = head.removeprefix("# ").rstrip(")").rpartition(" (")
            identifier = names.split(", ")[1]
            about = " ".join(about.split()).replace("|", "\\|")
            row = f"| [{title}]({path.name})<br>`{path.stem}` {identifier} | {about} | {severity.get(path.stem, '')} |"
            family = next(
                (f for start, f in FAMILIES.items() if identifier.startswith(start)), "Others"
            )
            found.setdefault(family, []).append(row.replace("|  |", "| |"))
        lines = ["# What `pellucid check` looks for", ""]
        for family in (*FAMILIES.values(), "Others"):
            if family in found:
                lines += [
                    f"## {family}",
                    "",
                    "| rule | what goes wrong | severity |",
                    "|---|---|---|",
                    *found[family],
                    "",
                ]
        return "\n".join(lines)

    def tutorial(self, path: Path, target: str, run: bool) -> str:
        """A notebook as Markdown: cells, what they print, and their pictures."""
        book = notebooks.Notebook(path)
        if run:
            book.run()
        shutil.copyfile(path, self._extra_path(target.replace(".md", ".ipynb")))
        name = path.name
        parts = []
        for number, cell in enumerate(book.cells, 1):
            if cell.kind == "markdown":
                parts.append(cell.source)
                if number == 1:
                    parts.append(f'<p><a href="{name}" download>This lesson as a notebook</a></p>')
                continue
            if "pellucid" in cell.tags:
                parts.append('<span class="engine">only on Pellucid</span>')
            if "exercise" in cell.tags:
                parts.append('<span class="turn">your turn</span>')
            parts.append(f"```{{code-block}} python\n{cell.source}\n```")
            for k, output in enumerate(cell.outputs):
                if output.get("page"):
                    parts.append(self.picture(output["page"], f"{path.stem}-{number}-{k}", target))
                else:
                    parts.append(
                        f"```{{code-block}} text\n:class: output\n\n{notebooks.output_text(output).rstrip()}\n```"
                    )
        return "\n\n".join([*parts, ""])

    def picture(self, page: str, name: str, target: str) -> str:
        """A still picture goes into a file, which can follow the page's light and dark; a page in a
        frame stays where it is.
        """
        svg = re.search(r"<svg\b.*</svg>", page, re.DOTALL)
        if svg and "<iframe" not in page and "<script" not in page:
            file = self._extra_path(f"{Path(target).parent.as_posix()}/pictures/{name}.svg")
            file.write_text(svg[0], encoding="utf-8")
            page = f'<img src="pictures/{name}.svg" alt="computation graph">'
        body = re.sub(r"\n\s*\n", "\n", page)  # an empty line would end the HTML in Markdown
        return f'<div class="picture">{body}</div>'

    def _extra_path(self, name: str) -> Path:
        path = self.extra / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    # ---- links ---------------------------------------------------------------------------------
    def links(self, text: str, origin: str, target: str) -> str:
        """Links as the site needs them; those that lead nowhere go into `broken`."""
        done: list[str] = []
        # lines outside of code, taken together: the text of a link may be broken over two lines
        prose: list[str] = []
        fence = None

        def finish() -> None:
            done.extend(
                self._outside_code("\n".join(prose), origin, target).split("\n") if prose else []
            )
            prose.clear()

        for line in text.splitlines():
            marker = FENCE.match(line.lstrip())
            if fence is None and not marker and line.strip():
                prose.append(line)
                continue
            finish()
            if fence is None and marker:
                fence = marker[1]
            elif fence is not None and line.strip().startswith(fence):
                fence = None
            done.append(line)
        finish()
        return "\n".join([*done, ""])

    def _outside_code(self, paragraph: str, origin: str, target: str) -> str:
        paragraph = IMAGE.sub(
            lambda found: self._image(found[1], found[2], origin, target), paragraph
        )
        pieces, at = [], 0
        for found in LINK.finditer(paragraph):
            before = paragraph[at : found.start()]
            if before.count("`") % 2:  # the link stands in code
                continue
            pieces += [before, self.link(found[1], found[2], origin, target)]
            at = found.end()
        return "".join([*pieces, paragraph[at:]])

    def _image(self, text: str, goal: str, origin: str, target: str) -> str:
        """An image of the repository, copied beside the pages."""
        path = self.root / os.path.normpath(os.path.join(os.path.dirname(origin), goal))
        if ":" in goal or not path.is_file():
            if not goal.startswith(("data:", "_static/")):
                self.broken.append(f"{origin}: ![{text}]({goal})")
            return f"![{text}]({goal})"
        (self.folder / "images").mkdir(exist_ok=True)
        shutil.copy(path, self.folder / "images")
        return f"![{text}]({'../' * target.count('/')}images/{path.name})"

    def link(self, text: str, goal: str, origin: str, target: str) -> str:
        up = "../" * target.count("/")
        scheme, _, rest = goal.partition(":")
        if scheme in ("http", "https", "mailto") or goal.startswith("#"):
            return f"[{text}]({goal})"
        if scheme == "html":
            return f'<a href="{rest}">{_inline(text)}</a>'
        path, _, fragment = (rest if scheme == "source" else goal).partition("#")
        folder = "" if scheme == "source" else os.path.dirname(origin)
        name = os.path.normpath(os.path.join(folder, path)).replace(os.sep, "/")
        if name in self.pages:
            return f"[{text}]({up}{self.pages[name]}{'#' + fragment if fragment else ''})"
        if (self.root / name).is_file():
            self.sources.add(name)
            return f'<a href="{up}source/{name}.html{"#L-" + fragment[1:] if fragment else ""}">{_inline(text)}</a>'
        if (self.root / name).is_dir():
            return text
        self.broken.append(f"{origin}: [{text}]({goal})")
        return text


def _inline(text: str) -> str:
    """The text of a link as HTML."""
    return re.sub(
        r"`([^`]*)`",
        r"<code>\1</code>",
        escape(re.sub(r"\\([\\_*\[\]])", r"\1", text), quote=False),
    )


# ---- HTML ------------------------------------------------------------------------------------
_SOURCE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>{name}</title><style>
body {{ margin: 0 auto; max-width: 1100px; padding: 1em; font: 15px system-ui, sans-serif; background: #fff; color: #1f2328; }}
pre {{ font: 13px/1.45 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; overflow: auto; }}
.linenos {{ color: #8888; user-select: none; padding-right: 1em; }} a {{ color: inherit; }} :target {{ background: #fd03; }}
{light}
@media (prefers-color-scheme: dark) {{ body {{ background: #131416; color: #cfd0d0; }} {dark} }}
</style></head><body><p><a href="{home}">Pellucid</a> / {name}</p>{code}</body></html>
"""


def source_pages(names: set[str], root: Path, folder: Path) -> None:
    """The source files that pages link to, highlighted, with a mark on every line."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer, TextLexer

    light, dark = (
        HtmlFormatter(style=style).get_style_defs(".highlight")
        for style in ("friendly", "github-dark")
    )
    for name in sorted(names):
        formatter = HtmlFormatter(linenos="inline", lineanchors="L", wrapcode=True)
        lexer = PythonLexer() if name.endswith((".py", ".pyi")) else TextLexer()
        code = highlight((root / name).read_text(encoding="utf-8"), lexer, formatter)
        page = folder / "source" / f"{name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        home = "../" * (name.count("/") + 1) + "index.html"
        page.write_text(
            _SOURCE.format(name=escape(name), home=home, light=light, dark=dark, code=code),
            encoding="utf-8",
        )


class _Page(HTMLParser):
    """What a page refers to, and what can be referred to in it."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.goals: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value is None:
                continue
            if name == "id" or (name == "name" and tag == "a"):
                self.ids.add(value)
            elif name in ("href", "src"):
                self.goals.append((tag, value))


class _Text(HTMLParser):
    """The words of a page's article, without headings of the site, code of scripts and marks of
    links.
    """

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._inside = self._silent = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._inside += tag == "article"
        self._silent += tag in ("script", "style", "svg", "iframe")
        if tag not in ("a", "b", "code", "em", "i", "span", "strong", "sup", "sub"):
            self.words.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._inside -= tag == "article"
        self._silent -= tag in ("script", "style", "svg", "iframe")

    def handle_data(self, data: str) -> None:
        if self._inside and not self._silent:
            self.words.append(data.replace("\N{PILCROW SIGN}", " "))


def texts(folder: Path, most: int = 6000) -> str:
    """The beginnings of all pages as a script, from which the search page takes excerpts: a page
    opened as a file may not fetch others.
    """
    found = {}
    for path in sorted(folder.rglob("*.html")):
        name = path.relative_to(folder).with_suffix("").as_posix()
        if name.startswith(("source/", "gallery/", "_")) or name in ("search", "genindex"):
            continue
        page = _Text()
        page.feed(path.read_text(encoding="utf-8"))
        found[name] = " ".join("".join(page.words).split())[:most]
    return (
        "const PAGE_TEXTS = "
        + json.dumps(found, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
        + ";\n"
    )


def check(folder: Path) -> list[str]:
    """Sentences about links in a built site that lead nowhere, and about what would be loaded from
    another host.
    """
    pages: dict[Path, _Page] = {}
    for path in sorted(folder.rglob("*.html")):
        pages[path] = _Page()
        pages[path].feed(path.read_text(encoding="utf-8"))
    wrong = []
    for path, page in pages.items():
        name = path.relative_to(folder).as_posix()
        for tag, goal in page.goals:
            parts = urlsplit(goal)
            if parts.scheme or parts.netloc:
                if tag != "a" and parts.scheme != "data":
                    wrong.append(f"{name}: <{tag}> loads {goal}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                wrong.append(f"{name}: {goal} does not exist")
            elif (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in pages[target].ids
            ):
                wrong.append(f"{name}: {goal} has no such place")
    for path in sorted(folder.rglob("*.css")):
        for goal in re.findall(
            r"(?:url\(|@import\s+)[\"']?(https?:[^\"')]+)", path.read_text(encoding="utf-8")
        ):
            wrong.append(f"{path.relative_to(folder).as_posix()}: loads {goal}")
    return wrong


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build the documentation.")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(argv)
    from sphinx.cmd.build import build_main

    folder = options.folder.resolve()
    staged = Stage(ROOT, folder.with_name(folder.name + "-pages"))
    try:
        staged.build()
    except (BrokenLinks, notebooks.CellError) as error:
        print(f"{type(error).__name__}:\n{error}", file=sys.stderr)
        return 1
    source_pages(staged.sources, ROOT, staged.extra)
    os.environ["PELLUCID_DOCS_VERSION"] = reference.pellucid.__version__
    shutil.rmtree(folder, ignore_errors=True)
    arguments: list[Any] = [
        "-q",
        "-W",
        "--keep-going",
        "-E",
        "-j",
        "auto",
        "-b",
        "html",
        staged.folder,
        folder,
    ]
    status = build_main([str(a) for a in arguments])
    shutil.rmtree(folder / ".doctrees", ignore_errors=True)
    (folder / "_static" / "texts.js").write_text(texts(folder), encoding="utf-8")
    wrong = check(folder)
    print("\n".join(wrong), file=sys.stderr)
    pages = len(list(folder.rglob("*.html")))
    print(f"{pages} pages in {options.folder}; {len(wrong)} broken links")
    return int(bool(status or wrong))


if __name__ == "__main__":
    raise SystemExit(main())
