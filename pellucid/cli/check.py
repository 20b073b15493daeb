"""`pellucid check`: run a training script and report its bugs."""

from __future__ import annotations

import argparse
import difflib
import importlib
import importlib.util
import linecache
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import CodeType
from typing import Any

from pellucid.check.config import SettingsError, read_settings
from pellucid.check.output import FORMATS, render, shown_path, wants_colour
from pellucid.check.ranks import journal, launch, merge, waits
from pellucid.check.rule import Finding, all_rules
from pellucid.check.session import Session
from pellucid.cli import folder, run, stand_in
from pellucid.cli.command_line import Parser, add_common, silencing, split, target
from pellucid.debug.pictures import timeline
from pellucid.interop.children import as_torch_too

from ..check.recording.instrument import compiled
from ..check.recording.recorder import StopRun
from ..core.display.notebook import place

Show = Callable[[Any, Any, int], int]

_EPILOG = """\
The script runs as with `pellucid run` (with --engine torch, as with `python`),
and its output does not change. The findings come after it: text on stderr,
other formats on one line of stdout. Use --output to write them to a file.
A folder without a __main__.py is a folder of submissions. Each .py and .ipynb
file in it is checked in its own process, and a table shows the results (with
--format json, a list).

exit status:
  0  no finding of severity error
  1  a finding of severity error (with --strict: any finding), or an exception
  2  wrong usage
  A script that exits with another status keeps it.

silence a finding:
  # pellucid: ignore[missing-zero-grad]    on its line, or on the line above
  # pellucid: ignore-file[PL101]           in the whole file
  [tool.pellucid.check] in pyproject.toml  for a project
  PELLUCID_CHECK=-dead-units,-PL6          for one run

examples:
  pellucid check train.py --epochs 1
  pellucid check --engine torch --max-steps 50 train.py
  pellucid check --format sarif --output findings.sarif train.py
  pellucid check --max-steps 50 lesson.ipynb
  pellucid check --select mutual-broadcast,PL3 train.py
  pellucid check --nproc 2 --timeline ranks.html train_ddp.py
  pellucid check --report second.html --compare first.html train.py
  pellucid check --jobs 2 --max-steps 50 submissions/
  pellucid check --explain-rule missing-zero-grad
"""


def main(argv: Sequence[str]) -> int:
    """Check what the command line names and return the exit status."""
    parser = _parser()
    own, rest = split(parser, argv)
    options = parser.parse_args(own)
    if options.list_rules:
        return _list_rules()
    if options.explain_rule is not None:
        return _explain(options.explain_rule, parser)
    if options.script is not None and folder.is_folder(options.script):
        if rest:
            parser.error("a folder of scripts takes no arguments for them")
        return folder.check(options, own)
    options.compared = _read_earlier(options, parser)
    what = target(options, parser)
    if options.nproc is not None and what[0] == "code":
        parser.error("--nproc needs a script or a module")
    try:
        settings = read_settings(options.script, options.select, options.ignore)
        _check_names(settings)
    except SettingsError as error:
        parser.error(str(error))
    if options.engine == "torch":
        known = stand_in.found()
        if importlib.util.find_spec("torch") is None or known is not None and known[2]:
            parser.error("--engine torch needs PyTorch, which is not installed in this environment")
    return watched(options, rest, what, settings, _show)


def _read_earlier(options: Any, parser: argparse.ArgumentParser) -> Any:
    """The report of `--compare`, read before the script runs and perhaps overwrites it."""
    if options.compare is None:
        return None
    if options.report is None:
        parser.error("--compare needs --report FILE, the page that shows both runs")
    try:
        return importlib.import_module("pellucid.debug.pictures.report").earlier(options.compare)
    except (OSError, ValueError) as error:
        parser.error(f"--compare: {error}")


def watched(options: Any, rest: list[str], what: tuple[str, str], settings: Any, show: Show) -> int:
    """Check one script in this process, or (`--nproc`) as ranks; `show` gets the result, and
    returns the exit status.
    """
    # the ranks of another check write there: this process is one
    within = os.environ.get(journal.FOLDER)
    if within is not None:
        return _check(options, rest, what, settings, None, within, show)
    with tempfile.TemporaryDirectory(prefix="pellucid-check-") as made:
        os.environ[journal.FOLDER] = made
        try:
            return _check(options, rest, what, settings, made, None, show)
        finally:
            del os.environ[journal.FOLDER]


def _check(
    options: Any,
    rest: list[str],
    what: tuple[str, str],
    settings: Any,
    made: str | None,
    within: str | None,
    show: Show,
) -> int:
    """Check one script: in this process, or (`--nproc`) as ranks.

    `made` is a folder for ranks; `within` is that of another check, of which this process is a
    rank.
    """
    if options.nproc is not None and made is not None:
        return _check_ranks(options, rest, what, settings, made, show)
    try:
        code, module = run.load(*what, rest, alias=options.engine == "pellucid")
        text = "".join(linecache.getlines(code.co_filename))
        code = compiled(text, code.co_filename) if text else code
    except run.NotFound as error:
        print(f"pellucid: {error}", file=sys.stderr)
        return error.status
    except SyntaxError as error:
        sys.excepthook(type(error), error.with_traceback(None), None)
        return 1
    session = Session(
        options.engine,
        settings,
        code.co_filename,
        options.max_steps,
        options.report is not None,
        told=_live if options.live else None,
        every_step=options.every_step or not text,
    )
    follow = {
        "engine": options.engine,
        "settings": settings,
        "script": code.co_filename,
        "max_steps": options.max_steps,
    }
    stalls = launch.Stalls(made, options.stall) if made is not None else nullcontext()
    children = as_torch_too() if options.engine == "pellucid" else nullcontext()
    with silencing(options.quiet), stalls, children:
        failure, status = _watch(session, code, module, follow)
        result = session.finish(failure)
        sys.stdout.flush()
    if within is not None:
        merge.write(within, result)
        return 1 if failure is not None else status
    assert made is not None
    if any(Path(made).glob("*.jsonl")):  # the script has started ranks, or is one
        result = merge.merged(made, settings, code.co_filename, options.engine, result)
    return show(result, options, status)


def _check_ranks(
    options: Any, rest: list[str], what: tuple[str, str], settings: Any, made: str, show: Show
) -> int:
    """Check a script as several ranks of torch.distributed."""
    kind, name = what
    script = os.path.abspath(name) if kind == "script" else name
    if kind == "script" and not os.path.exists(script):
        print(
            f"pellucid: can't open file {script!r}: [Errno 2] No such file or directory",
            file=sys.stderr,
        )
        return 2
    each = [f"--engine={options.engine}"]
    for option, value in (
        ("--select", options.select),
        ("--ignore", options.ignore),
        ("--max-steps", options.max_steps),
    ):
        each += [] if value is None else [option, str(value)]
    each += ["--live"] if options.live else []
    each += ["--every-step"] if options.every_step else []
    with silencing(options.quiet):
        status = launch.run(
            [*(["-m"] if kind == "module" else []), name, *rest], options.nproc, each, options.stall
        )
    result = merge.merged(made, settings, script, options.engine)
    return show(result, options, 0 if result.failure is not None else status)


def _show(result: Any, options: Any, status: int) -> int:
    """Print or write the result; returns the exit status."""
    if options.output is not None:
        Path(options.output).write_text(render(result, options.format, indent=2), encoding="utf-8")
    else:
        stream = sys.stderr if options.format == "text" else sys.stdout
        print(render(result, options.format, colour=wants_colour(stream)), end="", file=stream)
    if options.report is not None:
        _write_report(result, options.report, options.compared)
    if options.timeline is not None:
        _write_timeline(result, options.timeline)
    if result.failure is not None:
        return 1
    if status:
        return status
    return int(bool(result.findings if options.strict else result.errors))


def _watch(
    session: Session, code: CodeType, module: Any, follow: dict[str, Any]
) -> tuple[BaseException | None, int]:
    """Run and record the script: (the exception that ended it, its exit status). Processes that it
    starts get the options `follow`.
    """
    sys.modules["__main__"] = module
    session.start()
    launch.follow(session, follow)
    try:
        exec(code, module.__dict__)
    except StopRun:
        return None, 0
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
            return None, 1
        return None, int(stop.code or 0)
    except KeyboardInterrupt:
        print("pellucid check: interrupted; findings so far:", file=sys.stderr)
        return None, 130
    except Exception as error:
        session.stop()
        session.locations.clean(error)
        traceback = run.script_frames(error.__traceback__, code, error)
        run.shown(type(error), error.with_traceback(traceback), traceback)
        return error, 1
    finally:
        session.stop()
    return None, 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pellucid check",
        usage="pellucid check [options] (SCRIPT | FOLDER | -m MODULE | -c CODE) [ARGS ...]",
        description="Run a PyTorch training script and report its bugs, with their fixes.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_common(parser, "check")
    parser.add_argument(
        "--engine",
        choices=("pellucid", "torch"),
        default="pellucid",
        help="run the script on Pellucid or on the installed PyTorch (default: pellucid)",
    )
    parser.add_argument(
        "--nproc",
        "--nproc_per_node",
        "--nproc-per-node",
        metavar="N",
        help="run it as N ranks of torch.distributed, and compare them",
    )
    parser.add_argument(
        "--stall",
        metavar="S",
        type=float,
        default=launch.STALL,
        help="with ranks: end them when one waits and none makes progress for S seconds (default: 60)",
    )
    parser.add_argument(
        "--timeline",
        metavar="FILE",
        help="with ranks: also write a timeline of what each rank did and waited for",
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="output format (default: text)"
    )
    parser.add_argument("--output", metavar="FILE", help="write the findings to a file")
    parser.add_argument(
        "--select",
        metavar="RULES",
        help="only these rules: comma-separated names or identifiers; PL3 selects all PL3xx",
    )
    parser.add_argument("--ignore", metavar="RULES", help="leave these rules out")
    parser.add_argument(
        "--strict", action="store_true", help="exit status 1 for findings of any severity"
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="also write a page with findings, graph, losses, gradients, time and memory",
    )
    parser.add_argument(
        "--compare",
        metavar="FILE",
        help="with --report: show the lines and findings of this earlier report beside those of the run",
    )
    parser.add_argument(
        "--live",
        action="store_true",
        help="also print each finding when it is first seen, for long runs",
    )
    parser.add_argument(
        "--every-step",
        action="store_true",
        help="record every step; otherwise those that only repeat what was seen are left out",
    )
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=float,
        default=600,
        help="in a folder: seconds for each script (default: 600)",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=int,
        default=1,
        help="in a folder: how many scripts run at a time (default: 1)",
    )
    parser.add_argument("--list-rules", action="store_true", help="list all rules and exit")
    parser.add_argument("--explain-rule", metavar="RULE", help="show the page of one rule and exit")
    return parser


def _live(finding: Finding, step: int) -> None:
    """One line for a finding, while the script still runs."""
    where = place(finding.file, finding.line, shown_path(finding.file))
    text = finding.message.splitlines()[0]
    print(
        f"pellucid check: step {step}: {where}: {finding.severity} {finding.rule} [{finding.name}] {text}",
        file=sys.__stderr__,
    )


def _check_names(settings: Any) -> None:
    """Refuse names that no rule has, so that a typing error does not silently select nothing."""
    rules = all_rules()
    for word in (
        *settings.select,
        *settings.ignore,
        *settings.severities,
        *(w for ws in settings.per_file.values() for w in ws),
    ):
        known = word == "ALL" or any(
            word == rule.slug or (word[:1] in ("P", "D") and rule.id.startswith(word))
            for rule in rules
        )
        if not known:
            raise SettingsError(f"there is no rule {word!r}; {_meant(word)}")


def _meant(word: str) -> str:
    """The rules whose names are close to a word."""
    close = difflib.get_close_matches(
        word, [name for rule in all_rules() for name in (rule.slug, rule.id)], n=2
    )
    return (
        f"did you mean {' or '.join(close)}?"
        if close
        else "`pellucid check --list-rules` lists them all"
    )


def _list_rules() -> int:
    for rule in all_rules():
        print(f"{rule.id}  {rule.severity:<8} {rule.slug:<30} {rule.summary}")
    return 0


def _explain(name: str, parser: argparse.ArgumentParser) -> int:
    rule = next((rule for rule in all_rules() if name in (rule.slug, rule.id)), None)
    if rule is None:
        parser.error(f"there is no rule {name!r}; {_meant(name)}")
    package = Path(__file__).resolve().parents[1]
    for pages in (package / "check" / "pages", package.parent / "docs" / "checks"):
        page = pages / f"{rule.slug}.md"
        if page.is_file():
            print(page.read_text(encoding="utf-8"), end="")
            return 0
    print(f"# {rule.slug} ({rule.id})\n\n{rule.summary}")
    return 0


def _write_timeline(result: Any, path: str) -> None:
    """The page of what the ranks did; nothing where there were none."""
    if result.records is None or not result.records.ranks:
        print("pellucid check: no ranks were seen, so there is no timeline", file=sys.stderr)
        return
    about = f"{shown_path(result.script)}: {result.ranks} ranks, {result.steps} optimizer steps, watched on {result.engine}"
    notes = list(result.notes) + (
        [] if result.failure is None else [f"the program ended with {result.failure}"]
    )
    found = [finding.as_dict() for finding in result.findings]
    timeline.write(
        path,
        timeline.timeline(
            waits.page_data(result.records), about=about, findings=found, notes=notes
        ),
    )


def _write_report(result: Any, path: str, compared: Any) -> None:
    try:
        report = importlib.import_module("pellucid.debug.pictures.report")
    except ModuleNotFoundError:
        raise SystemExit(
            "pellucid check: this version has no report page (pellucid.debug.pictures.report)"
        ) from None
    report.write(path, report.check_report(result, compared))
