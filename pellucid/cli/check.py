"""`pellucid check`: run a training script under watch and say what is wrong with it."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import linecache
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from pellucid.check.config import SettingsError, read_settings
from pellucid.check.output import FORMATS, render
from pellucid.check.rule import all_rules
from pellucid.check.session import Session
from pellucid.cli import run
from pellucid.cli.command_line import add_common, silencing, split, target

from ..check.recording.instrument import compiled
from ..check.recording.recorder import StopRun

_EPILOG = """\
The script runs as with `pellucid run` (or, with --engine torch, as with `python`), its output untouched. Findings follow:
text on the standard error stream, the other formats on the standard output, on a line of their own.

exit status:  0  nothing of severity error        1  a finding of severity error (--strict: any), or the script raised
              2  wrong usage                      a script that ends with another status keeps it

silence a finding:  # pellucid: ignore[missing-zero-grad]      on its line or the line above; ignore-file for the whole file
                    [tool.pellucid.check] in pyproject.toml     select, ignore, severity, per-file-ignores
                    PELLUCID_CHECK=-dead-units,-PL6             for one run

examples:
  pellucid check train.py --epochs 1
  pellucid check --engine torch --max-steps 50 train.py
  pellucid check --format sarif --output findings.sarif train.py
  pellucid check --max-steps 50 lesson.ipynb
  pellucid check --select mutual-broadcast,PL3 train.py
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
    what = target(options, parser)
    try:
        settings = read_settings(options.script, options.select, options.ignore)
        _check_names(settings)
    except SettingsError as error:
        parser.error(str(error))
    if options.engine == "torch" and importlib.util.find_spec("torch") is None:
        parser.error("--engine torch needs PyTorch, which is not installed in this environment")
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
    session = Session(options.engine, settings, code.co_filename, options.max_steps, options.report is not None)
    with silencing(options.quiet):
        failure, status = _watch(session, code, module)
        result = session.finish(failure)
        sys.stdout.flush()
    if options.output is not None:
        Path(options.output).write_text(render(result, options.format, indent=2), encoding="utf-8")
    else:
        print(render(result, options.format), end="", file=sys.stderr if options.format == "text" else sys.stdout)
    if options.report is not None:
        _write_report(result, options.report)
    if failure is not None:
        return 1
    if status:
        return status
    return int(bool(result.findings if options.strict else result.errors))


def _watch(session: Session, code: CodeType, module: Any) -> tuple[BaseException | None, int]:
    """Run the script under watch: (the exception that ended it, its exit status)."""
    sys.modules["__main__"] = module
    session.start()
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
    parser = argparse.ArgumentParser(
        prog="pellucid check",
        usage="pellucid check [options] (SCRIPT | -m MODULE | -c CODE) [ARGS ...]",
        description="Run a PyTorch training script under watch and report what is wrong with it: what was seen, why, and the fix.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_common(parser, "check")
    parser.add_argument(
        "--engine", choices=("pellucid", "torch"), default="pellucid", help="what runs the script (default: pellucid)"
    )
    parser.add_argument("--format", choices=FORMATS, default="text", help="how findings are written (default: text)")
    parser.add_argument("--output", metavar="FILE", help="write the findings to a file")
    parser.add_argument(
        "--select", metavar="RULES", help="only these rules: slugs or identifiers with commas between, PL3 for all PL3.."
    )
    parser.add_argument("--ignore", metavar="RULES", help="without these rules")
    parser.add_argument("--strict", action="store_true", help="exit status 1 for findings of any severity")
    parser.add_argument(
        "--report", metavar="FILE", help="also write a page with findings, graph, losses, gradients, time and memory"
    )
    parser.add_argument("--list-rules", action="store_true", help="show all rules and end")
    parser.add_argument("--explain-rule", metavar="RULE", help="show the page of one rule and end")
    return parser


def _check_names(settings: Any) -> None:
    """Refuse names that no rule has, so that a typing error does not silently select nothing."""
    rules = all_rules()
    for word in (*settings.select, *settings.ignore, *settings.severities, *(w for ws in settings.per_file.values() for w in ws)):
        known = word == "ALL" or any(word == rule.slug or (word.startswith("PL") and rule.id.startswith(word)) for rule in rules)
        if not known:
            raise SettingsError(f"there is no rule {word!r}; `pellucid check --list-rules` shows all")


def _list_rules() -> int:
    for rule in all_rules():
        print(f"{rule.id}  {rule.severity:<8} {rule.slug:<30} {rule.summary}")
    return 0


def _explain(name: str, parser: argparse.ArgumentParser) -> int:
    rule = next((rule for rule in all_rules() if name in (rule.slug, rule.id)), None)
    if rule is None:
        parser.error(f"there is no rule {name!r}; --list-rules shows all")
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "check" / "pages", package.parent / "docs" / "checks"):
        page = folder / f"{rule.slug}.md"
        if page.is_file():
            print(page.read_text(encoding="utf-8"), end="")
            return 0
    print(f"# {rule.slug} ({rule.id})\n\n{rule.summary}")
    return 0


def _write_report(result: Any, path: str) -> None:
    try:
        report = importlib.import_module("pellucid.debug.pictures.report")
    except ModuleNotFoundError:
        raise SystemExit("pellucid check: this version has no report page (pellucid.debug.pictures.report)") from None
    report.write(path, report.check_report(result))
