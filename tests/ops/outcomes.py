"""Expressions with what PyTorch 2.13 makes of them (`elementwise.json`): a printed result, or an
exception and its first line.
"""

import json
import warnings
from pathlib import Path

NAMES = {
    "u": "t.tensor([1, 200], dtype=t.uint8)",
    "i": "t.tensor([-7, 7])",
    "b": "t.tensor([True, False])",
    "f": "t.tensor([1.5, -2.5, float('nan')])",
    "h": "t.tensor([1.0, 2.0], dtype=t.half)",
    "bf": "t.tensor([1.0, 2.0], dtype=t.bfloat16)",
    "c": "t.tensor([1 + 2j, 0])",
    "d": "t.ones(2, dtype=t.float64)",
    "z": "t.tensor(3)",
    "zf": "t.tensor(2.5)",
}
KINDS = (NotImplementedError, IndexError, TypeError, ValueError, AssertionError, RuntimeError)

EXPECTED = json.loads(Path(__file__).with_name("elementwise.json").read_text(encoding="utf-8"))


def outcome(package, expression):
    """What an expression prints, or the built-in type and the first line of its error."""
    scope = {name: eval(text, {"t": package}) for name, text in NAMES.items()}
    package.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return repr(eval(expression, {"torch": package, **scope}))
    except Exception as error:
        kind = next((k for k in KINDS if isinstance(error, k)), type(error))
        return f"{kind.__name__}: {str(error).splitlines()[0]}"
