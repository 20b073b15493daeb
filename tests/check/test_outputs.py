"""What a check prints and returns: formats, comments, settings, the Python API."""

import json
import textwrap
from pathlib import Path

import numpy as np
import pytest

import pellucid as torch
from pellucid import nn
from pellucid.check import (
    CheckError,
    CheckResult,
    Finding,
    Rule,
    Settings,
    ignoring,
    read_settings,
    watching,
)
from pellucid.check.config import SettingsError, comments
from pellucid.check.output import as_sarif, render
from pellucid.check.session import Session


def column_against_row():
    return ((torch.zeros(4, 1) - torch.zeros(4)) ** 2).mean()


def finding(**changes):
    fields = {
        "rule": "PL101",
        "name": "mutual-broadcast",
        "severity": "error",
        "file": "/somewhere/train.py",
        "line": 7,
        "message": "seen: 50%\nsecond line",
        "evidence": {"shape": [4, 4]},
        "fix": "squeeze it",
    }
    return Finding(**{**fields, **changes})


# ---- the result ------------------------------------------------------------------------------------------------------
def test_a_block_is_watched():
    with watching() as result:
        column_against_row()
        assert result.findings == []  # filled at the end
    (found,) = result.findings
    assert (found.rule, found.name, found.severity) == ("PL101", "mutual-broadcast", "error")
    assert found.file == __file__ and found.line == column_against_row.__code__.co_firstlineno + 1
    assert found.evidence == {"operation": "sub", "input": [4, 1], "other": [4], "result": [4, 4]}
    assert result.errors == [found] and result.engine == "pellucid" and result.steps == 0
    # Afterwards nothing is watched.
    column_against_row()
    assert len(result.findings) == 1


def test_a_function_is_watched(capsys):
    watched = watching()(column_against_row)
    assert watched().item() == 0
    assert "[mutual-broadcast]" in capsys.readouterr().err


def test_a_block_that_fails_is_not_hidden():
    with pytest.raises(ZeroDivisionError), watching() as result:
        column_against_row()
        1 / 0
    assert isinstance(result.failure, ZeroDivisionError) and len(result.findings) == 1


def test_blocks_can_be_nested():
    with watching() as outer:
        with watching() as inner:
            column_against_row()
        column_against_row()
    assert len(inner.findings) == 1 and inner.findings[0].evidence.get("count") is None
    assert len(outer.findings) == 1


def test_a_rule_that_fails_is_switched_off():
    class Broken(Rule):
        slug, id, ops = "broken", "PL998", ("add",)

        def on_op(self, op):
            raise KeyError("of the rule's own")

    session = Session(rules=[Broken]).start()
    x = torch.ones(2)
    x = x + 1
    x = x + 1
    result = session.finish()
    assert x.tolist() == [3.0, 3.0] and result.findings == []
    (note,) = result.notes
    assert (
        note.startswith("rule broken was switched off: it failed in on_op (KeyError: ")
        and "test_outputs.py" in note
    )


def test_one_line_is_reported_once_with_a_count():
    with watching() as result:
        for _ in range(5):
            column_against_row()
    assert [f.evidence["count"] for f in result.findings] == [5]


def test_symptoms_are_left_out():
    class Cause(Rule):
        slug, id, ops, supersedes, covered = "cause", "PL997", ("mul",), ("symptom",), ("covered",)

        def on_op(self, op):
            self.report(op.site, "cause", covers=[op.inputs[0].producer.site])

    class Symptom(Rule):
        slug, id, ops = "symptom", "PL996", ("mul",)

        def on_op(self, op):
            self.report(op.site, "symptom")

    class Covered(Rule):
        slug, id, ops = "covered", "PL995", ("add",)

        def on_op(self, op):
            self.report(op.site, "covered")

    session = Session(rules=[Cause, Symptom, Covered]).start()
    x = torch.ones(2) + 1
    y = x * 2
    z = torch.ones(2) + y
    result = session.finish()
    assert [(f.name, f.message) for f in result.findings] == [
        ("cause", "cause"),
        ("covered", "covered"),
    ]
    assert z.tolist() == [5.0, 5.0]


def test_what_may_have_many_causes_is_left_out_when_one_is_found():
    class Symptom(Rule):
        slug, id, ops, symptom_of, severity = "symptom", "PL996", ("mul",), ("cause",), "error"

        def on_op(self, op):
            self.report(op.site, "symptom")

    class Cause(Rule):
        slug, id, ops, severity = "cause", "PL997", ("add",), "error"

        def on_op(self, op):
            self.report(op.site, "cause")

    def names(**options):
        session = Session(rules=[Symptom, Cause], settings=Settings(**options)).start()
        y = torch.ones(2) * 2
        y = y + 1
        return [f.name for f in session.finish().findings]

    assert names() == ["cause"]
    assert names(ignore=("cause",)) == ["symptom"]
    assert sorted(names(severities={"cause": "warning"})) == ["cause", "symptom"]


# ---- formats ---------------------------------------------------------------------------------------------------------
def test_json_has_exactly_the_fields():
    data = json.loads(render(CheckResult(findings=[finding()]), "json"))
    assert data == {
        "findings": [
            {
                "rule": "PL101",
                "name": "mutual-broadcast",
                "severity": "error",
                "file": "/somewhere/train.py",
                "line": 7,
                "message": "seen: 50%\nsecond line",
                "evidence": {"shape": [4, 4]},
                "fix": "squeeze it",
            }  # fmt: skip
        ]
    }


def test_evidence_is_plain_data():
    class Odd(Rule):
        slug, id, ops = "odd", "PL998", ("add",)

        def on_op(self, op):
            array = op.output.numpy()
            evidence = {
                "nan": float("nan"),
                "array": array,
                "number": array[0],
                3: (1, {2}),
                "site": op.site,
                "object": object,
            }
            self.report(op.site, "odd", evidence=evidence)

    session = Session(rules=[Odd]).start()
    torch.zeros(2) + 1
    (found,) = session.finish().findings
    assert json.loads(json.dumps(found.evidence, allow_nan=False))["nan"] == "nan"
    assert (
        found.evidence["array"] == [1.0, 1.0]
        and found.evidence["3"] == [1, [2]]
        and found.evidence["site"].startswith(__file__)
    )


def test_text():
    text = render(CheckResult(findings=[finding()], notes=["a remark"], steps=1), "text")
    assert text.startswith(
        "/somewhere/train.py:7: error PL101 [mutual-broadcast]\n    seen: 50%\n    second line\n"
    )
    assert "    seen: shape: (4, 4)\n    fix: squeeze it\n" in text
    assert text.endswith(
        "note: a remark\n\npellucid check: 1 finding (1 of severity error) in 1 optimizer step\n"
    )
    assert render(CheckResult(), "text") == "pellucid check: no findings in 0 optimizer steps\n"
    with pytest.raises(ValueError, match="format must be one of"):
        render(CheckResult(), "xml")


def test_github_annotations_are_escaped():
    text = render(CheckResult(findings=[finding(severity="info", file="a,b:c.py")]), "github")
    assert (
        text
        == "::notice file=a%2Cb%3Ac.py,line=7,title=PL101 mutual-broadcast::seen: 50%25%0Asecond line%0Asqueeze it\n"
    )


def test_sarif_has_what_its_schema_requires(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = as_sarif(
        CheckResult(
            findings=[
                finding(file=str(tmp_path / "sub" / "train.py")),
                finding(name="softmax-before-ce", rule="PL201"),
            ]
        )
    )
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] and all(
        rule["id"] and rule["shortDescription"]["text"] for rule in driver["rules"]
    )
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error") and result["message"]["text"]
        (place,) = result["locations"]
        assert place["physicalLocation"]["region"]["startLine"] == 7
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"] == {
        "uri": "sub/train.py",
        "uriBaseId": "%SRCROOT%",
    }
    assert run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"] == {
        "uri": "file:///somewhere/train.py"
    }


# ---- silencing -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("comment", "silent"),
    [
        ("# pellucid: ignore[mutual-broadcast]", True),
        ("# pellucid: ignore[PL101]", True),
        ("# pellucid: ignore[PL1]", True),
        ("# pellucid: ignore[loss-shape-mismatch, PL101]", True),
        ("# pellucid: ignore", True),
        ("# pellucid: ignore[softmax-before-ce]", False),
        ("# pellucid: ignored", False),
        ("# not pellucid: ignore", False),
    ],
)
def test_comment_on_the_line(tmp_path, comment, silent):
    file = tmp_path / "train.py"
    file.write_text(f"x = 1\ny = x - 2  {comment}\n")
    assert Settings().silenced(finding(file=str(file), line=2)) is silent
    assert not Settings().silenced(finding(file=str(file), line=1))


def test_comment_above_the_line_and_for_the_file(tmp_path):
    above = tmp_path / "above.py"
    above.write_text(
        textwrap.dedent("""\
        if True:
            # pellucid: ignore[PL101]
            # all pairs are wanted

            x = (1
                 - 2)
            y = 3
        text = '''
        # pellucid: ignore
        '''
        """)
    )
    assert Settings().silenced(finding(file=str(above), line=5))
    assert not any(
        Settings().silenced(finding(file=str(above), line=line)) for line in (1, 2, 6, 7, 8, 10)
    )
    whole = tmp_path / "whole.py"
    whole.write_text("import torch\n\n# pellucid: ignore-file[mutual-broadcast]\n")
    assert Settings().silenced(finding(file=str(whole)))
    assert not Settings().silenced(finding(file=str(whole), name="softmax-before-ce", rule="PL201"))
    assert comments(str(tmp_path / "missing.py")) == (None, {})


def test_comment_silences_a_real_finding():
    with watching() as result:
        ((torch.zeros(4, 1) - torch.zeros(4)) ** 2).mean()  # pellucid: ignore[mutual-broadcast]
    assert result.findings == []


def test_blocks_and_functions_are_silenced():
    @ignoring("PL1", "softmax-before-ce")
    def meant():
        return column_against_row()

    with watching() as result:
        meant()
        with ignoring():
            column_against_row()
        with ignoring("softmax-before-ce"):
            x = torch.zeros(4, 1) - torch.zeros(4)
    assert [f.line for f in result.findings] == [_line_of("x = torch.zeros(4, 1) - torch.zeros(4)")]
    assert x.shape == (4, 4)
    with watching() as result:
        column_against_row()
    assert len(result.findings) == 1


def _line_of(text):
    lines = Path(__file__).read_text().splitlines()
    return 1 + next(k for k, line in enumerate(lines) if line.strip() == text)


def test_a_finding_raises():
    seen = []
    with (
        pytest.raises(CheckError, match="broadcast to") as caught,
        watching(raising=True) as result,
    ):
        seen.append("before")
        column_against_row()
        seen.append("after")
    assert seen == ["before"] and caught.value.finding.name == "mutual-broadcast"
    assert str(caught.value).splitlines()[1].startswith("  PL101 [mutual-broadcast] at ")
    assert len(result.findings) == 1
    with watching(raising=True, settings=Settings(severities={"PL101": "warning"})) as result:
        column_against_row()
    assert len(result.findings) == 1


def test_what_is_found_at_the_end_raises_there():
    model = nn.Sequential(nn.Linear(2, 4), nn.Dropout(0.5), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(CheckError, match="evaluated here in train mode"), watching(raising=True):
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()
        with torch.no_grad():
            model(torch.ones(3, 2)).sum().item()


# ---- settings --------------------------------------------------------------------------------------------------------
def project(folder, text):
    (folder / "pyproject.toml").write_text(textwrap.dedent(text))
    script = folder / "sub" / "train.py"
    script.parent.mkdir()
    script.write_text("import torch\n")
    return str(script)


def test_pyproject(tmp_path):
    script = project(
        tmp_path,
        """
        [tool.pellucid.check]
        select = ["PL1", "missing-zero-grad"]
        ignore = ["loss-shape-mismatch"]
        severity = { "mutual-broadcast" = "info" }
        per-file-ignores = { "sub/*.py" = ["missing-zero-grad"], "other.py" = ["ALL"] }
        """,
    )
    settings = read_settings(script, environment={})
    assert settings.selected("mutual-broadcast", "PL101") and settings.selected(
        "missing-zero-grad", "PL301"
    )
    assert not settings.selected("loss-shape-mismatch", "PL102") and not settings.selected(
        "softmax-before-ce", "PL201"
    )
    assert (
        settings.severity("mutual-broadcast", "PL101") == "info"
        and settings.severity("softmax-before-ce", "PL201") is None
    )
    assert settings.silenced(finding(file=script, name="missing-zero-grad", rule="PL301"))
    assert not settings.silenced(finding(file=script))
    assert settings.silenced(finding(file=str(tmp_path / "sub" / "other.py")))


def test_environment_and_options_win(tmp_path):
    script = project(tmp_path, '[tool.pellucid.check]\nselect = ["PL1"]\nignore = ["PL102"]\n')
    settings = read_settings(script, environment={"PELLUCID_CHECK": "PL2, -PL202"})
    assert settings.select == ("PL2",) and settings.ignore == ("PL102", "PL202")
    settings = read_settings(
        script, select="PL3,PL4", ignore="PL401", environment={"PELLUCID_CHECK": "PL2"}
    )
    assert settings.select == ("PL3", "PL4") and settings.ignore == ("PL102", "PL401")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.pellucid.check]\nselekt = []\n", "has no setting 'selekt'"),
        (
            '[tool.pellucid.check]\nseverity = { PL1 = "loud" }\n',
            "must be one of error, warning, info, not 'loud'",
        ),
        ("[tool.pellucid.check]\nselect = 3\n", "must be a list of names of rules, not 3"),
        ("[tool.pellucid.check\n", "pyproject.toml: "),
    ],
)
def test_settings_that_mean_nothing_are_refused(tmp_path, text, message):
    with pytest.raises(SettingsError, match=message.replace("[", r"\[")):
        read_settings(project(tmp_path, text), environment={})


def test_severity_is_changed():
    with watching(settings=Settings(severities={"PL1": "warning"})) as result:
        column_against_row()
    assert [f.severity for f in result.findings] == ["warning"] and result.errors == []


# ---- names -----------------------------------------------------------------------------------------------------------
def test_things_are_called_as_the_user_calls_them():
    seen = []

    class Named(Rule):
        slug, id = "named", "PL998"

        def on_step(self, event):
            seen.extend(v.name for v in event.optimizer.params())

    class Trainer:
        def __init__(self):
            self.net = nn.Sequential(nn.Linear(2, 1))

    session = Session(rules=[Named]).start()
    trainer, scale, gates = (
        Trainer(),
        torch.ones(1, requires_grad=True),
        [torch.ones(1, requires_grad=True)],
    )
    optimizer = torch.optim.SGD([*trainer.net.parameters(), scale, *gates], lr=0.1)
    (trainer.net(torch.ones(1, 2)) * scale * gates[0]).sum().backward()
    optimizer.step()
    session.finish()
    assert seen == ["trainer.net.0.weight", "trainer.net.0.bias", "scale", "gates[0]"]


# ---- what the report page is made of ---------------------------------------------------------------------------------
def test_measures():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    losses = []
    with watching(measures=True) as result:
        for _ in range(4):
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    seen = result.measures
    assert seen.losses == list(enumerate(losses))
    assert [step for step, _ in seen.gradient_norms["model.0.weight"]] == [0, 1, 2, 3]
    assert [step for step, _ in seen.update_ratios["model.2.bias"]] == [0, 1, 2]
    assert seen.learning_rates == {"optimizer": [(step, [0.1]) for step in range(4)]}
    line = next(cost for (name, _, _), cost in seen.costs.items() if name == "linear")
    assert line.calls == 8 and line.seconds > 0 and line.bytes == 4 * (8 * 4 * 4 + 8 * 4)
    assert 0 < seen.backward_seconds < seen.seconds
    active = seen.activation_histograms
    assert list(active) == ["model.0 (Linear)", "model.1 (Tanh)", "model.2 (Linear)"]
    assert [step for step, _, _ in active["model.1 (Tanh)"]] == [0, 1, 2]
    _, edges, counts = active["model.1 (Tanh)"][0]
    assert sum(counts) == 8 * 4 and -1 <= edges[0] < edges[-1] <= 1
    nodes = list(seen.graph.nodes())
    assert [n.name for n in nodes if n.kind != "constant"] == [
        "model.0.weight",
        "model.0.bias",
        "linear",
        "tanh",
        "model.2.weight",
        "model.2.bias",
        "linear",
        "mse_loss",
    ]
    assert [n.group for n in nodes if n.name == "linear"] == [("model", "0"), ("model", "2")]
    keys = {n.key for n in nodes}
    assert all(e.source in keys and e.target in keys for e in seen.graph.edges())
    assert {e.argument for e in seen.graph.edges()} == {"input", "weight", "bias", "target"}


def test_histograms_of_few_equal_and_extreme_values():
    from pellucid.check.measures import histogram

    with np.errstate(all="raise"):
        for values in ([5.0], [0.0] * 9, [3e38, 3e38], [-1e-300, 1e-300], [1.0, np.inf], [0, 1e6]):
            step, edges, counts = histogram(7, np.array(values))
            assert step == 7 and sum(counts) == np.isfinite(values).sum()
            assert len(edges) == len(counts) + 1 and all(np.diff(edges) > 0)
        assert len(histogram(0, np.arange(1e5))[2]) == 40
        for values in ([], [np.nan, np.inf], [-1e308, 1e308]):
            assert histogram(0, np.array(values)) is None


def test_evidence_shows_paths_relative_to_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path / "train.py")
    result = CheckResult([finding(file=here, evidence={"used at": f"{here}:7"})])
    assert "seen: used at: train.py:7" in render(result, "text")
