"""Write down PyTorch's `aten` schemas: `pellucid/aten/schemas.txt`, made from the PyTorch that is
installed.

    python tools/aten_schemas.py pellucid/aten/schemas.txt     # needs torch beside Pellucid

A line is an overload: letters of what it is (`LETTERS` in `pellucid.aten.schema`), and its schema.
What follows from another line is not repeated: `add.out < Tensor` is the form of `add.Tensor` that
writes into `out`, `add_.Tensor <<` the form of it in place.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import torch

from pellucid.aten.schema import LETTERS, in_place_form, out_form

# Operations of other devices, of quantized tensors, and of PyTorch's own tests.
LEFT_OUT = re.compile(
    r"_?(cudnn|miopen|mkldnn|fbgemm|cufft|cslt|nested|test|philox|fused|quantized|q|hip|mps|xnnpack|vulkan|cuda|wrapped"
    r"|thnn_fused|validate|amp|sobol|make_per|fake_quantize|weight_int4pack|weight_int8pack|dyn_quant|convert_weight|jagged|padded_dense"
    r"|transform_bias|triton|mixed_dtypes|autocast|dimI|dimV|nnpack|trilinear|propagate|spdiags|spsolve|indices|values|ccol|crow"
    r"|col_indices|row_indices|fill_mem|to_mkldnn|to_cpu|rowwise|debug.*|foobar)(_|$|\b)"
)


def lines() -> list[str]:
    schemas: dict[str, dict[str, str]] = {}
    for s in torch._C._jit_get_all_schemas():
        if "..." in str(s):
            continue  # a form for TorchScript alone
        if s.name.startswith("aten::") and not LEFT_OUT.match(s.name[6:]):
            schemas.setdefault(s.name[6:], {})[s.overload_name] = str(s)[6:]
    schemas = {
        name: texts for name, texts in schemas.items() if _of_tensors("".join(texts.values()))
    }
    found = []
    for name in sorted(schemas, key=lambda n: (n.rstrip("_"), n)):
        order = torch._C._jit_get_operation(f"aten::{name}")[1]
        texts = {o: schemas[name][o] for o in order if o in schemas[name]}
        earlier: list[str] = []  # some forms with `out` stand before what they are forms of
        for overload, text in texts.items():
            shown = text
            plain = schemas.get(name[:-1], {}).get(overload) if name.endswith("_") else None
            origin = next((o for o in earlier if out_form(texts[o], overload) == text), None)
            if overload.endswith("out") and origin is not None:
                shown = f"{name}.{overload} < {origin}"
            elif plain is not None and in_place_form(plain) == text:
                shown = f"{name}.{overload} <<" if overload else f"{name} <<"
            earlier.append(overload)
            found.append(f"{letters(name, overload)} {shown}")
    return found


def _of_tensors(texts: str) -> bool:
    """Whether operators are more than TorchScript's own functions on lists, dictionaries and
    strings.
    """
    return ("Tensor" in texts or "Scalar" in texts) and not re.search(
        r"Dict\(|\(\w+, tVal\)|__torch__|RRef|Future", texts
    )


def letters(name: str, overload: str) -> str:
    full = f"aten::{name}.{overload}" if overload else f"aten::{name}"
    try:
        composite = torch._C._dispatch_has_kernel_for_dispatch_key(
            full, "CompositeImplicitAutograd"
        )
        tags = {t.name for t in torch._C._get_operation_overload(f"aten::{name}", overload)[2]}
    except RuntimeError:
        return "j"
    return "".join(
        letter for letter, tag in LETTERS.items() if tag in tags or letter == "c" and composite
    )


if __name__ == "__main__":
    version = torch.__version__.split("+")[0]
    head = f"# The overloads of aten in PyTorch {version}; written by tools/aten_schemas.py, read by pellucid/aten/schema.py."
    Path(sys.argv[1]).write_text("\n".join([head, *lines()]) + "\n", encoding="utf-8")
