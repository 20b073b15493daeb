"""One watched run: engine, recorder, hooks and rules; its findings are collected, filtered and
sorted.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterable
from typing import Any

from .config import Settings, names
from .events import Failure, Site
from .measures import Measures
from .ranks.journal import FOLDER
from .ranks.watch import RankWatch
from .recording.engine import load_engine
from .recording.hooks import Hooks
from .recording.locations import Locations
from .recording.recorder import Recorder
from .result import CheckResult
from .rule import EVENTS, SEVERITIES, CheckError, Finding, Located, Rule, all_rules


class Session:
    """Watches a program between `start` and `finish`.

    Args:
        engine: "pellucid" or "torch".
        settings: which rules, with which severities; comments and pyproject included.
        script: the file that is checked; findings that have no line of the user's are put on its
            first.
        max_steps: end the program after so many optimizer steps.
        measures: also gather what the report page shows (losses, gradient norms, time and memory by
            operation).
        rules: the rules that take part (default: all), as far as the settings let them.
        raising: raise CheckError for a finding of severity error where it is found.
        told: called with each finding that is not silenced, and the step, when it is first found;
            one may turn out to be a symptom later.
        every_step: record every step. Otherwise steps that only repeat what was seen are left out
            (`recording.rest`), which needs a program that `recording.instrument` has compiled.
    """

    def __init__(
        self,
        engine: str = "pellucid",
        settings: Settings | None = None,
        script: str = "",
        max_steps: int | None = None,
        measures: bool = False,
        rules: Iterable[type[Rule]] | None = None,
        raising: bool = False,
        told: Callable[[Finding, int], None] | None = None,
        every_step: bool = True,
    ) -> None:
        self.settings = settings or Settings()
        self.script = script
        self.engine = load_engine(engine)
        self.recorder = Recorder(self.engine)
        self.recorder.max_steps = max_steps
        self.hooks = Hooks(self.recorder)
        self.locations = Locations(self.recorder)
        self.ranks = RankWatch(self) if os.environ.get(FOLDER) else None
        self.found: dict[tuple[str, str, int], tuple[Finding, list[int]]] = {}
        self.notes: list[str] = []
        self.off: set[str] = set()
        self.failure: BaseException | None = None
        self.rules: list[Rule] = []
        self.measures = Measures(self.recorder) if measures else None
        rest = self.recorder.rest
        rest.allowed = not every_step and not measures
        rest.every_step = lambda: self.ranks is not None and self.ranks.journal is not None
        self.raising = raising
        self.told = told
        self._began = 0.0
        self._running = False
        for kind in all_rules() if rules is None else rules:
            if self.settings.selected(kind.slug, kind.id):
                rule = kind()
                rule.session = self
                self.rules.append(rule)
        self._subscribe()

    def _subscribe(self) -> None:
        recorder = self.recorder
        for rule in self.rules:
            recorder.updates_wanted |= rule.wants_updates
            for event in EVENTS:
                handler = getattr(rule, event, None)
                if handler is None:
                    continue
                if event == "on_op":
                    for name in rule.ops or ("",):
                        recorder.op_handlers.setdefault(name, []).append(handler)
                else:
                    recorder.handlers.setdefault(event, []).append(handler)
        recorder.broken = self._broken
        if self.measures is not None:
            self.measures.subscribe()

    def _broken(self, handler: Any, error: Exception) -> bool:
        """A rule's own mistake switches it off instead of ending the user's program."""
        rule = getattr(handler, "__self__", None)
        if isinstance(error, CheckError) or not isinstance(rule, Rule):
            return False
        for table in (self.recorder.handlers, self.recorder.op_handlers):
            for key, handlers in table.items():
                # new lists: the old ones may be gone through just now
                table[key] = [h for h in handlers if getattr(h, "__self__", None) is not rule]
        if rule.slug not in self.off:
            self._switch_off(rule, handler.__name__, error)
        return True

    def _switch_off(self, rule: Rule, event: str, error: Exception) -> None:
        self.off.add(rule.slug)
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(last.filename)}, line {last.lineno}"
        self.notes.append(
            f"rule {rule.slug} was switched off: it failed in {event} ({type(error).__name__}: {error}; {place}). "
            "Other rules are not affected."
        )
        if os.environ.get("PELLUCID_CHECK_RAISE"):
            raise error

    # ---- the run -----------------------------------------------------------------------------------------------------
    def start(self) -> Session:
        """Begin to watch."""
        self._began = time.perf_counter()
        self.hooks.install()
        if self.ranks is not None:
            self.ranks.install(self.hooks)
        self.locations.install()
        self.recorder.start()
        self._running = True
        return self

    def stop(self) -> None:
        """Watch no more."""
        if self._running:
            self._running = False
            self.recorder.stop()
            self.locations.remove()
            self.hooks.remove()

    def finish(self, failure: BaseException | None = None) -> CheckResult:
        """Stop watching, let every rule conclude, and give the result. `failure` is the exception
        that ended the program.
        """
        recorder = self.recorder
        self.failure = failure
        if failure is not None:
            self.locations.clean(failure)
            recorder.tell(
                "on_exception", Failure(failure, None, self._raised_at(failure), recorder.step)
            )
        if self.ranks is not None:
            self.ranks.finish(failure)
        self.stop()
        recorder.paused += 1
        for rule in self.rules:
            if rule.slug not in self.off:
                try:
                    rule.finish()
                except Exception as error:
                    self._switch_off(rule, "finish", error)
        return CheckResult(
            findings=self.findings(),
            engine=self.engine.name,
            script=self.script,
            steps=recorder.step,
            seconds=time.perf_counter() - self._began,
            notes=[*self.notes, *recorder.notes],
            failure=failure,
            measures=self.measures.gathered() if self.measures is not None else None,
        )

    def _raised_at(self, error: BaseException) -> Site | None:
        """The innermost place of the user's in a traceback."""
        found, tb = None, error.__traceback__
        while tb is not None:
            if not self.recorder.is_library(tb.tb_frame.f_code.co_filename):
                found = Site(tb.tb_frame.f_code, tb.tb_lasti)
            tb = tb.tb_next
        return found

    # ---- findings ----------------------------------------------------------------------------------------------------
    def report(
        self,
        rule: Rule,
        site: Located | None,
        message: str,
        evidence: dict[str, Any],
        fix: str,
        covers: Iterable[Located | None],
        severity: str | None,
    ) -> None:
        """Take in a finding of a rule."""
        file, line = site.key if site is not None else (self.script, 1)
        key = (rule.slug, file, line)
        step = self.recorder.step
        held = self.found.get(key)
        if held is not None:
            held[1][0] += 1
            held[1][2] = step
            return
        shown = self.settings.severity(rule.slug, rule.id) or severity or rule.severity
        covered = frozenset(s.key for s in covers if s is not None)
        finding = Finding(
            rule.id, rule.slug, shown, file, line, message, plain(evidence), fix, covered
        )
        self.found[key] = (finding, [1, step, step])
        if self.told is not None and self._running and not self._silenced(finding):
            self.told(finding, step)
        if self.raising and self._running and shown == "error" and not self._silenced(finding):
            raise CheckError(finding)

    def _silenced(self, finding: Finding) -> bool:
        return self.settings.silenced(finding) or any(
            names(word, finding.name, finding.rule)
            for word in self.recorder.ignored.get((finding.file, finding.line), ())
        )

    def findings(self) -> list[Finding]:
        """The findings so far, by file and line, without symptoms of other findings and what
        comments silence.

        A rule names the rules whose findings may be symptoms of its own; none of a higher severity
        is ever left out.
        """
        all_found = list(self.found.values())
        kinds = {rule.slug: type(rule) for rule in self.rules}
        kept = []
        for finding, (count, first, last) in all_found:
            if self._silenced(finding) or any(
                hides(other, finding, kinds) for other, _ in all_found
            ):
                continue
            if count > 1:
                finding.evidence = {
                    **finding.evidence,
                    "count": count,
                    "first_step": first,
                    "last_step": last,
                }
            kept.append(finding)
        return sorted(kept, key=lambda f: (f.file != self.script, f.file, f.line, f.rule))


def hides(cause: Finding, finding: Finding, kinds: dict[str, type[Rule]]) -> bool:
    """Whether a finding is a symptom of another one, and not graver than that."""
    by, of = kinds[cause.name], kinds[finding.name]
    if SEVERITIES.index(cause.severity) > SEVERITIES.index(finding.severity):
        return False
    if finding.name in by.supersedes or cause.name in of.symptom_of:
        return True
    return finding.name in by.covered and (finding.file, finding.line) in cause.covers


def plain(value: Any) -> Any:
    """Evidence as JSON has it."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    if isinstance(value, Site):
        return str(value)
    if isinstance(value, bool) or value is None or isinstance(value, (int, str)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if hasattr(value, "item") and getattr(value, "size", 2) == 1:
        return plain(value.item())
    return plain(value.tolist()) if hasattr(value, "tolist") else str(value)
