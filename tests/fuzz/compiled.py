"""Single operations in compiled functions against the same in eager execution, over several calls.

The first calls have arguments of one kind, so that one version serves them; later ones have
positions out of range, other sizes, empty ones, other layouts, special values or memory that nobody
may write to, and the last has arguments of the first kind again. Results, gradients, what is left
in the arguments, and the class and text of errors are eager execution's. Rounding is told from
faults by eager calls whose arguments are moved by some units in the last place. Everything lies at
guard pages.
"""

from __future__ import annotations

import copy
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import arguments
import calls
import guard

import pellucid
from pellucid.utils._pytree import tree_map

NEEDS_TORCH = False
KNOWN: dict[str, str] = {
    "gradient error, nn.functional.group_norm": "a program keeps other values of a norm than an operation, and refuses other writes",
    "gradient error, masked_scatter": "an operand that was overwritten is called by another of its names",
    "gradient error, nn.functional.batch_norm": "a program keeps other values of a norm than an operation, and refuses other writes",
}
DIGITS = {
    "float32": 24,
    "complex64": 24,
    "float64": 53,
    "complex128": 53,
    "float16": 11,
    "bfloat16": 8,
}
LATER = [
    (arguments.vary_indices, 6),
    (arguments.vary_size, 3),
    (arguments.vary_one_size, 2),
    (arguments.vary_layout, 4),
    (arguments.vary_values, 2),
    (arguments.vary_number, 2),
    (arguments.vary_dtype, 1),
]


def refreshed(random: Any, call: dict[str, Any]) -> dict[str, Any]:
    """The same call with other values, of the same kinds and ranges."""
    call = copy.deepcopy(call)
    for a in arguments.arrays(call):
        if a.get("fill", ["constant"])[0] != "constant":
            a["fill"][1] = random.randrange(1 << 20)
    return call


def unwritable(random: Any, call: dict[str, Any]) -> None:
    found = arguments.arrays(call)
    if found:
        (found[0] if random.random() < 0.6 else random.choice(found))["read_only"] = True


def draw(random: Any) -> dict[str, Any]:
    base = calls.draw(random)
    if random.random() < 0.5:
        base = arguments.varied(random, base, 2)
    if base["form"] == "function":
        method = base["call"].rpartition(".")[2]
        first = base["args"][0] if base["args"] else None
        is_method = (
            isinstance(first, dict) and "array" in first and not base["call"].startswith("Tensor.")
        )
        if is_method and hasattr(pellucid.Tensor, method + "_") and random.random() < 0.35:
            base["form"] = "inplace"
    grad = random.choice(["none", "none", "inside", "outside"])
    if grad != "none":
        arguments.vary_grad(random, base)
    rounds = [refreshed(random, base) for _ in range(3)]
    for _ in range(random.choice([1, 2])):
        odd = refreshed(random, base)
        kinds, weights = zip(*LATER, (unwritable, 3), strict=True)
        random.choices(kinds, weights)[0](random, odd)
        rounds.append(odd)
    rounds.append(refreshed(random, base))
    case = {k: base[k] for k in ("call", "form", "init", "init_kwargs") if k in base}
    if grad == "outside" and base["form"] == "function" and random.random() < 0.4:
        case["write"] = random.randrange(8)
    case |= {"grad": grad, "rounds": [{"args": c["args"], "kwargs": c["kwargs"]} for c in rounds]}
    case |= {"side": random.randrange(4) == 0, "pattern": random.choice([0xFF, 0x7F])}
    return case


def smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for k in range(len(case["rounds"])):
        if len(case["rounds"]) > 1:
            yield {**case, "rounds": case["rounds"][:k] + case["rounds"][k + 1 :]}
    if case["grad"] != "none":
        yield {**case, "grad": "none"}
    if "write" in case:
        yield {k: v for k, v in case.items() if k != "write"}
    for k, one in enumerate(case["rounds"]):
        for new in arguments.smaller({"call": case["call"], "form": "function", **one}):
            rounds = [*case["rounds"]]
            rounds[k] = {"args": new["args"], "kwargs": new["kwargs"]}
            yield {**case, "rounds": rounds}


class Run:
    """One way to make the calls of a case, eagerly or compiled."""

    def __init__(self, case: dict[str, Any], compiled: bool) -> None:
        self.case = case
        name, form = case["call"], case["form"]
        if form == "module":
            pellucid.manual_seed(7)
            target = arguments.resolve(pellucid, name)(*case["init"], **case["init_kwargs"])
        elif form == "inplace":
            method = name.rpartition(".")[2] + "_"
            target = lambda x, *args, **kwargs: getattr(x, method)(*args, **kwargs)
        else:
            target = arguments.resolve(pellucid, name)
        inside, write = case["grad"] == "inside", case.get("write")

        def step(args: Any, kwargs: Any, leaves: Any) -> Any:
            if write is not None:
                args, kwargs = tree_map(
                    lambda x: x.clone() if isinstance(x, pellucid.Tensor) else x, (args, kwargs)
                )
            made = target(*args, **kwargs)
            if write is not None:
                # what backward needs and somebody has overwritten: it must refuse, as eagerly
                places = arguments.tensors_in((args, kwargs, made), pellucid.Tensor)
                with pellucid.no_grad():
                    for t in places[write % len(places) :][:1] if places else ():
                        t.zero_()
            if not inside:
                return made
            outs = [o for o in arguments.tensors_in(made, pellucid.Tensor) if o.requires_grad]
            if not outs or not leaves:
                return made
            return made, pellucid.autograd.grad(
                [o.real.sum() for o in outs], leaves, allow_unused=True
            )

        self.step = pellucid.compile(step) if compiled else step

    def call(
        self, one: dict[str, Any], moved: np.random.Generator | None = None, units: float = 0.0
    ) -> tuple[Any, list[Any], list[Any]]:
        """The result or error of one call, gradients taken after it, and the arguments as they are
        then. `moved` draws by how much the arguments' values are moved before.
        """
        unit = step_of(one) * units
        given: list[Any] = []
        leaves: list[Any] = []

        def tensor(a: dict[str, Any]) -> Any:
            array = arguments.lay(a)
            if moved is not None:
                nudge(array, unit, moved)
            t = pellucid.from_numpy(array)
            if a.get("grad") and self.case["grad"] != "none":
                t.requires_grad_(True)
                leaves.append(t)
                if self.case["form"] == "inplace" and len(given) == 0:
                    t = t.clone()
            given.append(t)
            return t

        args = [arguments.built(a, tensor, pellucid) for a in one["args"]]
        kwargs = {k: arguments.built(v, tensor, pellucid) for k, v in one["kwargs"].items()}
        pellucid.manual_seed(3)
        grads: Any = []
        try:
            made = self.step(args, kwargs, leaves)
        except Exception as error:
            return error, [], given
        outs = [o for o in arguments.tensors_in(made, pellucid.Tensor) if o.requires_grad]
        if self.case["grad"] == "outside" and outs and leaves:
            try:
                grads = list(
                    pellucid.autograd.grad([o.real.sum() for o in outs], leaves, allow_unused=True)
                )
            except Exception as error:
                grads = error
        return made, grads, given


def values_of(t: Any) -> np.ndarray:
    x = np.asarray(t.detach()._array)
    return x.astype(np.float32) if x.dtype == arguments.DTYPES["bfloat16"] else x


VALUE = re.compile(r"(result|gradient|argument) value,")
SUMS = re.compile(
    r"matmul|mm$|mv$|dot$|linear|conv|attention|norm|einsum|cdist|outer|kron|loss|softmax|sum|mean|std|var|prod"
)


def near_limit(one: dict[str, Any]) -> bool:
    """Whether an argument holds numbers whose sums or products are infinite in one order and
    finite, or no number, in another.
    """
    for a in arguments.arrays(one):
        kind = a["dtype"]
        if kind in DIGITS:
            x = np.abs(arguments.values(a).astype(np.complex128))
            most = float(np.finfo(kind if kind != "bfloat16" else "float32").max)
            if (np.isfinite(x) & (x > np.sqrt(most) / 16)).any():
                return True
    return False


JITTERS = (2.0, 2.0, 2.0, 16.0, 16.0, 16.0)  # units in the last place
TIMES_MOVED = 8.0


def step_of(one: dict[str, Any]) -> float:
    """A unit in the last place of the shortest kind of number among the arguments."""
    kinds = [DIGITS[a["dtype"]] for a in arguments.arrays(one) if a["dtype"] in DIGITS]
    return 2.0 ** (1 - min(kinds, default=53))


def largest(one: dict[str, Any]) -> float:
    """The largest finite number among the arguments."""
    found = [np.abs(arguments.values(a).astype(np.complex128)) for a in arguments.arrays(one)]
    return max((float(np.max(x[np.isfinite(x)], initial=0.0)) for x in found), default=0.0)


def nudge(array: np.ndarray, unit: float, draws: np.random.Generator) -> None:
    """Move the numbers of an array, but for small exact ones and for memory that several share."""
    kind = arguments.DTYPES["bfloat16"]
    if (array.dtype.kind not in "fc" and array.dtype != kind) or 0 in array.strides:
        return
    writeable = array.flags.writeable
    try:
        array.flags.writeable = True
    except ValueError:
        return
    with np.errstate(all="ignore"):
        wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
        noise = 1 + unit * draws.uniform(-1, 1, array.shape)
        array[...] = np.where(wide * 64 == np.round(wide * 64), wide, wide * noise).astype(
            array.dtype
        )
    array.flags.writeable = writeable


def rounding(eager: Run, one: dict[str, Any], mine: Any, wanted: Any) -> bool:
    """Whether the difference between two outcomes of a call is no larger than what moving the
    arguments by some units in the last place makes of it.
    """
    flat = lambda made: [
        None if t is None else values_of(t)
        for t in (*arguments.tensors_in(made[0], pellucid.Tensor), *made[1], *made[2])
    ]
    got, want = flat(mine), flat(wanted)
    wide = lambda x: x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    reach: list[Any] = [0.0] * len(want)
    for seed, units in enumerate(JITTERS):
        made = eager.call(one, np.random.default_rng(seed), units)
        if isinstance(made[0], Exception) or isinstance(made[1], Exception):
            return False
        for k, (x, y) in enumerate(zip(flat(made), want, strict=True)):
            if x is not None and y is not None and x.shape == y.shape:
                with np.errstate(all="ignore"):
                    # what is no number in one of them may be anything
                    apart = np.nan_to_num(np.abs(wide(x) - wide(y)), nan=np.inf, posinf=np.inf)
                    same = (wide(x) == wide(y)) | ((x != x) & (y != y))
                reach[k] = np.maximum(reach[k], np.where(same, 0.0, apart))
    # what a sum of numbers as large as the arguments may leave where it should be 0
    left = step_of(one) * 32 * largest(one) if SUMS.search(eager.case["call"]) else 0.0
    for x, y, most in zip(got, want, reach, strict=True):
        if x is None or y is None:
            continue
        with np.errstate(all="ignore"):
            same = (wide(x) == wide(y)) | ((x != x) & (y != y))
            most = TIMES_MOVED * most + np.abs(wide(y)) * step_of(one) * 32 + left
            near = np.abs(wide(x) - wide(y)) <= most
        if not (same | near | (most == np.inf)).all():
            return False
    return True


def far(a: np.ndarray, b: np.ndarray, dtype: str, limit: bool = False) -> bool:
    if np.array_equal(a, b):
        return False
    if dtype not in DIGITS:
        return True
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    a, b = a.astype(wide), b.astype(wide)
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(all="ignore"):
        if not limit and not ((a == b) | ((a != a) & (b != b)) | finite).all():
            return True
        a, b = np.where(finite, a, 0), np.where(finite, b, 0)
        size = np.abs(b)
        unit = 2.0 ** (1 - DIGITS[dtype])
        # Sums of numbers of size one leave such remainders where they should be 0.
        return bool((np.abs(a - b) > unit * (32 * size + 64 * np.max(size, initial=0) + 64)).any())


def differs(what: str, name: str, mine: Any, eager: Any, limit: bool = False) -> str | None:
    for k, (a, b) in enumerate(zip(mine, eager, strict=True)):
        if (a is None) != (b is None):
            return f"{what} None, {name}: {k} is {'None' if a is None else 'there'} when compiled"
        if a is None:
            continue
        if a.shape != b.shape or a.dtype is not b.dtype:
            return f"{what} kind, {name}: {k} is {a.dtype}{list(a.shape)}, eagerly {b.dtype}{list(b.shape)}"
        if a.requires_grad != b.requires_grad:
            return f"{what} requires_grad, {name}: {k} is {a.requires_grad}"
        x, y = values_of(a), values_of(b)
        if far(x, y, str(a.dtype).rpartition(".")[2], limit):
            return f"{what} value, {name}: {k} is {x.reshape(-1)[:6]}, eagerly {y.reshape(-1)[:6]} of {list(a.shape)}"
    return None


def run(case: dict[str, Any]) -> str | None:
    limited()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guard.damaged()
        try:
            eager, compiled = Run(case, False), Run(case, True)
        except Exception:  # the arguments make no module: nothing is called
            return None
        with guard.memory(
            guard.FRONT if case.get("side") else guard.END, case.get("pattern", 0xFF)
        ):
            for k, one in enumerate(case["rounds"]):
                want, got = eager.call(one), compiled.call(one)
                text = compared(
                    case, got, want, bool(SUMS.search(case["call"])) and near_limit({**case, **one})
                )
                if text is not None and VALUE.match(text) and rounding(eager, one, got, want):
                    text = None
                del want, got
                if guard.damaged():
                    text = f"damage, {case['call']}: something was written beside an array"
                if text is not None:
                    return f"{text}   call {k}, {case['grad']}: {arguments.text({**case, **one})}"
    return None


def limited() -> None:
    """This process may not take all the memory when a case asks for it."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (now + (6 << 30), hard))


def error_text(error: Exception) -> str:
    """PyTorch's sentence. What is added to it says what an operand was called where that could be
    found, which differs.
    """
    return (str(error).splitlines() or [""])[0]


def compared(case: dict[str, Any], mine: Any, eager: Any, limit: bool = False) -> str | None:
    name = case["call"]
    (a, grads_a, given_a), (b, grads_b, given_b) = mine, eager
    if isinstance(a, Exception) or isinstance(b, Exception):
        if isinstance(a, MemoryError) or isinstance(b, MemoryError):
            return None
        if not isinstance(b, Exception):
            return f"compiled raises, {name}: {type(a).__name__} {a}"
        if not isinstance(a, Exception):
            return f"compiled accepts, {name}: eagerly {type(b).__name__} {b}"
        if type(a) is not type(b):
            return f"error class, {name}: {type(a).__name__} {a}; eagerly {type(b).__name__} {b}"
        if error_text(a) != error_text(b):
            return f"error text, {name}: {error_text(a)!r}; eagerly {error_text(b)!r}"
    else:
        outs_a, outs_b = (arguments.tensors_in(v, pellucid.Tensor) for v in (a, b))
        if len(outs_a) != len(outs_b):
            return f"result count, {name}: {len(outs_a)}, eagerly {len(outs_b)}"
        if isinstance(grads_a, Exception) or isinstance(grads_b, Exception):
            if type(grads_a) is not type(grads_b) or str(grads_a) != str(grads_b):
                return f"gradient error, {name}: {grads_a!r}, eagerly {grads_b!r}"
            grads_a = grads_b = []
        text = differs("result", name, outs_a, outs_b, limit) or differs(
            "gradient", name, grads_a, grads_b, limit
        )
        if text:
            return text
    return differs("argument", name, given_a, given_b)
