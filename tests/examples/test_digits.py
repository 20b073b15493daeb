"""The demo, through the command that users type. Its numbers are held to PyTorch's in tests/oracle."""

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "digits.py"

# What PyTorch 2.13 prints for `python digits.py --quick`.
EPOCHS = """\
epoch  1/2 [########################] loss 1.2502  accuracy  61.66%  test loss 0.3092  accuracy  88.89%
epoch  2/2 [########################] loss 0.2305  accuracy  92.48%  test loss 0.1769  accuracy  94.17%
"""


def test_digits_learns_with_the_numbers_of_pytorch():
    done = subprocess.run(
        [sys.executable, "-m", "pellucid", "run", str(SCRIPT), "--quick"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    head, *epochs, last = done.stdout.splitlines(keepends=True)
    assert head == "1437 digits to learn from, 360 to test on, 38282 parameters\n"
    assert "".join(epochs) == EPOCHS
    assert re.fullmatch(r"test accuracy 94\.17% after 2 epochs in [\d.]+ s\n", last)


def test_the_script_knows_only_pytorch():
    text = SCRIPT.read_text(encoding="utf-8")
    assert "import torch\n" in text
    assert "pellucid" not in text.lower()
