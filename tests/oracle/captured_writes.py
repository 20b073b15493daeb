"""Calls each method in place in functions under `torch.func`'s transforms, and prints what happened.

`python captured_writes.py torch|pellucid`. Which arguments a method takes is found by trying them.
"""

import importlib
import json
import sys
import warnings

torch = importlib.import_module(sys.argv[1])
func, tensor = torch.func, torch.tensor
warnings.simplefilter("ignore")

ARGUMENTS = [
    "",
    "1",
    "0.5",
    "B",
    "S",
    "0, 1",
    "(3,)",
    "0, I, B",
    "0, I, 1.",
    "I, 1.",
    "(I,), B1",
    "M, 1.",
    "M, B",
    "B, B",
    "2, 0, 1.",
    "SQ",
    "SQ, SQ",
    "0, J, B, 'amax'",
    "1, rounding_mode='floor'",
    "min=0",
    "(2, 3), (3, 1)",
]
ONE = torch.ones(3)
TRANSFORMS = {
    "grad": lambda g: func.grad(lambda v: (g(v), v.sum())[1])(ONE),
    "vjp": lambda g: func.vjp(lambda v: (g(v), v.sum())[1], ONE)[0],
    "jvp": lambda g: func.jvp(lambda v: (g(v), v.sum())[1], (ONE,), (ONE,)),
    "jacrev": lambda g: func.jacrev(lambda v: (g(v), v * 2)[1])(ONE),
    "jacfwd": lambda g: func.jacfwd(lambda v: (g(v), v * 2)[1])(ONE),
    "hessian": lambda g: func.hessian(lambda v: (g(v), (v * 2).sum())[1])(ONE),
    "vmap": lambda g: func.vmap(lambda v: (g(v), v * 2)[1])(ONE),
    "vmap grad": lambda g: func.vmap(func.grad(lambda v: (g(v), v * 2)[1]))(ONE),
    "grad vmap": lambda g: func.grad(lambda q: func.vmap(lambda v: (g(v), v * 2)[1])(q).sum())(ONE),
    "grad grad": lambda g: func.grad(
        lambda q: func.grad(lambda v: (g(v), (v * 2).sum())[1])(q).sum()
    )(ONE),
}
# Which tensor the function writes to, of a tensor outside of it.
CHOSEN = {
    "captured": lambda t: t,
    "a view": lambda t: t[:],
    "detached": lambda t: t.detach(),
    "data": lambda t: t.data,
    "made": lambda t: t.clone(),
    "a view of what was made": lambda t: torch.zeros_like(t)[:],
    "made and detached": lambda t: (t * 1).detach(),
}
# beside those with an argument: names, sharing, and what needs a function in Python
LEFT_OUT = {"share_memory_", "apply_", "map_", "map2_", "rename_", "requires_grad_", "resize_as_"}
OPERATORS = [f"__i{s}__" for s in "add sub mul truediv floordiv mod pow and or xor lshift".split()]


def world():
    torch.manual_seed(0)
    return {
        "B": tensor([[1.0, 2.0, 3.0], [0.5, 0.25, 0.125]]),
        "S": tensor(2.0),
        "I": tensor([[0, 1, 1]]),
        "J": tensor([0, 1]),
        "M": tensor([[True, False, True], [False, True, False]]),
        "B1": tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]),
        "SQ": torch.eye(3),
    }


def target(whole):
    return tensor([[1, 2, 3], [4, 5, 6]]) if whole else tensor([[0.5, 0.25, 0.75], [0.1, 0.2, 0.3]])


def calls():
    """(method, arguments, of whole numbers?): those that a tensor takes, two for each method."""
    methods = [n for n in sorted(dir(torch.Tensor)) if n[-1] == "_" and n[0] != "_"]
    for name in [m for m in methods if m not in LEFT_OUT] + OPERATORS:
        for whole in (False, True):
            found = 0
            for given in ["1", "S"] if name[0] == "_" else ARGUMENTS:
                try:
                    eval(f"t.{name}({given})", {**world(), "t": target(whole)})
                except Exception:  # noqa: S112 what it does not take
                    continue
                yield name, given, whole
                found += 1
                if found == 2:
                    break


def shown(t):
    return [str(t.dtype), list(t.shape), t.detach().tolist()]


def outcome(name, given, whole, chosen, transform):
    around, t = world(), target(whole)

    def write(v):
        eval(f"t.{name}({given})", {**around, "t": CHOSEN[chosen](t)})

    try:
        result = TRANSFORMS[transform](write)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return [[shown(x) for x in (result if isinstance(result, tuple) else (result,))], shown(t)]


if __name__ == "__main__":
    found = {}
    for number, (name, given, whole) in enumerate(calls()):
        for chosen in CHOSEN:
            for k, transform in enumerate(TRANSFORMS):
                # every method under every transform, and what it writes to by turns
                if chosen == "captured" or (number + k) % 3 == 0:
                    key = f"{name}({given}) {'int' if whole else 'float'}: {chosen}, {transform}"
                    found[key] = outcome(name, given, whole, chosen, transform)
    print(json.dumps(found))
