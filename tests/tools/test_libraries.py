"""The page of libraries follows the tours and their pinned versions."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_up_to_date(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import libraries

    assert libraries.main(["--check"]) == 0, "run python tools/libraries.py"
    assert "| transformers |" in libraries.document()
    monkeypatch.setattr(libraries, "PAGE", tmp_path / "page.md")
    assert libraries.main(["--check"]) == 1
    assert "out of date" in capsys.readouterr().err
    assert libraries.main([]) == 0 and libraries.main(["--check"]) == 0
    sys.modules.pop("libraries")
