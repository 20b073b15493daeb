"""Write down what PyTorch's nodes keep: `pellucid/aten/kept.txt`, made from the headers of the PyTorch
that is installed.

    python tools/kept_words.py pellucid/aten/kept.txt     # needs torch beside Pellucid

A line is a node: its name, and each word of it with a letter for its kind (`KINDS` here).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import torch
from aten_schemas import LEFT_OUT

# what is not shown: layouts, element types, and marks of what was freed
KINDS = {
    "SavedVariable": "T",
    "std::vector<SavedVariable>": "L",
    "c10::SymInt": "i",
    "int64_t": "i",
    "std::vector<c10::SymInt>": "v",
    "std::vector<int64_t>": "v",
    "std::optional<c10::SymInt>": "o",
    "std::optional<int64_t>": "o",
    "c10::OptionalArray<c10::SymInt>": "a",
    "c10::OptionalArray<int64_t>": "a",
    "bool": "b",
    "double": "d",
    "std::optional<double>": "o",
    "at::Scalar": "s",
    "std::string": "s",
    "std::optional<at::Scalar>": "o",
    "std::vector<at::Scalar>": "v",
    "std::optional<bool>": "o",
    "std::optional<std::string>": "o",
}
STRUCT = re.compile(r"struct TORCH_API (\w+) : public \w+ \{(.*?)\n\};", re.S)
FIELD = re.compile(
    r"^  ((?:::)?(?:SavedVariable|std|c10|at|bool|double|int64_t)\b[\w:<>]*) (\w+)(?: = .*)?;$",
    re.M,
)


def lines() -> list[str]:
    header = Path(torch.__file__).parent / "include/torch/csrc/autograd/generated/Functions.h"
    found = []
    for name, body in STRUCT.findall(header.read_text(encoding="utf-8")):
        stem = re.sub("(?<=[a-z])(?=[A-Z])", "_", name.partition("Backward")[0]).lower()
        if LEFT_OUT.match(stem) and stem != "trilinear" or "Nested" in name or "Foreach" in name:
            continue
        words = []
        for kind, word in FIELD.findall(body.partition("apply_with_saved")[2]):
            letter = KINDS.get(kind.removeprefix("::"))
            if letter and not word.endswith("_released_"):
                words.append(f"{word.removesuffix('_') if letter in 'TL' else word}:{letter}")
        found.append(" ".join([name, *words]))
    return sorted(found)


if __name__ == "__main__":
    version = torch.__version__.split("+")[0]
    head = f"# What the nodes of PyTorch {version} keep; written by tools/kept_words.py, read by pellucid/aten/schema.py."
    Path(sys.argv[1]).write_text("\n".join([head, *lines()]) + "\n", encoding="utf-8")
