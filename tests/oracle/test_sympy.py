"""`torch.utils._sympy`: integer arithmetic on expressions, their bounds, and their solutions."""

import importlib

import pytest

torch = pytest.importorskip("torch")
sympy = pytest.importorskip("sympy")

PARTS = ("functions", "numbers", "printers", "solve", "symbol", "value_ranges")
NAMES = {
    **vars(sympy),
    "X": sympy.Symbol("x", integer=True),
    "Y": sympy.Symbol("y", integer=True),
    "Z": sympy.Symbol("z", integer=True, positive=True),
}
CASES = """
FloorDiv(X, Y)
FloorDiv(X * 4, 4)
FloorDiv(X, 1)
FloorDiv(7, 2)
FloorDiv(-7, 2)
FloorDiv(X * Y, Y)
FloorDiv(FloorDiv(X, 2), 3)
FloorDiv(4 * X + 8, 4)
FloorDiv(X + 4 * Y, 4)
FloorDiv(6 * X, 4)
FloorDiv(X, -1)
FloorDiv(0, X)
FloorDiv(X, 0)
ModularIndexing(X, 1, 4)
ModularIndexing(X * 4, 2, 8)
ModularIndexing(13, 2, 4)
ModularIndexing(X + 8, 1, 4)
ModularIndexing(X, 2, 1)
ModularIndexing(FloorDiv(X, 2), 3, 4)
CleanDiv(X, 2)
CleanDiv(6 * X, 2)
Mod(X, 2)
Mod(7, 3)
Mod(-7, 3)
Mod(X, 0)
PythonMod(-7, 3)
PythonMod(X, 1)
PythonMod(4 * X, 2)
CeilDiv(X, 2)
CeilDiv(7, 2)
CeilDiv(8 * X, 2)
Where(true, X, Y)
Where(X > 0, X, Y)
LShift(X, 2)
LShift(1, -1)
RShift(X, 2)
PowByNatural(X, 2)
PowByNatural(2, 3)
FloatPow(2.0, 3.0)
FloatTrueDiv(X, Y)
IntTrueDiv(6, 4)
TruncToInt(2.5)
TruncToInt(-2.5)
RoundToInt(2.5)
RoundToInt(3.5)
CeilToInt(2.1)
FloorToInt(2.9)
ToFloat(3)
ToFloat(X)
Identity(X)
TruncToFloat(2.7)
RoundDecimal(2.567, 2)
IsNonOverlappingAndDenseIndicator(4, 2, 2, 1)
FloorDiv(Z, 2).is_nonnegative
Mod(X, 2).is_nonnegative
PythonMod(X, 3).is_nonnegative
int_oo, -int_oo, int_oo + 1, int_oo - 5, int_oo * -2, int_oo * 0, int_oo + int_oo, int_oo**2, abs(-int_oo)
int_oo > 5, int_oo < oo, oo > int_oo, int_oo == oo, int_oo > int_oo, int_oo >= int_oo, -int_oo < -5
Max(int_oo, 3), Min(int_oo, 3), int_oo.is_integer, hash(int_oo) == hash(-(-int_oo))
ValueRanges(5, 1)
ValueRanges(1.5, 2.5)
ValueRanges.wrap(3)
ValueRanges(false, true)
ValueRanges.unknown(), ValueRanges.unknown_int(), ValueRanges.unknown_bool()
ValueRanges(0, oo)
ValueRanges(1, 5) & ValueRanges(3, 9)
ValueRanges(1, 5) | ValueRanges(3, 9)
ValueRanges(1, 3) & ValueRanges(5, 7)
3 in ValueRanges(1, 5), ValueRanges(-3, 2).issubset(ValueRanges(-4, 4))
ValueRanges.increasing_map(ValueRanges(1, 3), lambda z: z * 2)
ValueRanges.decreasing_map(ValueRanges(1, 3), lambda z: -z)
ValueRanges.monotone_map(ValueRanges(1, 3), lambda z: -z)
ValueRanges.convex_min_zero_map(ValueRanges(-2, 3), lambda z: z * z)
ValueRanges.unknown_int() & ValueRanges(3, int_oo)
ValueRanges(1, 2).is_int, ValueRanges(1, 2).is_bool, ValueRanges(1, 2).is_float
bound_sympy(FloorDiv(X, 3) + Y * Y - PythonMod(X, 4), {X: ValueRanges(0, 10), Y: ValueRanges(-2, 3)})
bound_sympy(Max(X, 7) * Min(Y, 1), {X: ValueRanges(0, 10), Y: ValueRanges(-2, 3)})
bound_sympy(X > 3, {X: ValueRanges(5, 6)})
bound_sympy(Eq(X, Y), {X: ValueRanges(5, 6), Y: ValueRanges(7, 9)})
bound_sympy(X, {}), bound_sympy(Z)
bound_sympy(ModularIndexing(X, 2, 4), {X: ValueRanges(0, 100)})
bound_sympy(CeilDiv(X, 3), {X: ValueRanges(0, 10)})
bound_sympy(IntTrueDiv(X, 4), {X: ValueRanges(1, 10)})
bound_sympy(Abs(X), {X: ValueRanges(-4, 1)})
bound_sympy(X * X, {X: ValueRanges(-4, 1)})
bound_sympy(FloorDiv(X, Y), {X: ValueRanges(0, 100), Y: ValueRanges(2, 5)})
bound_sympy(Or(X > 3, Y < 0), {X: ValueRanges(5, 6), Y: ValueRanges(0, 1)})
bound_sympy(PythonMod(X, Y), {X: ValueRanges(3, 8), Y: ValueRanges(10, 12)})
try_solve(Eq(X + 2, 5), X)
try_solve(Le(FloorDiv(X, 3), 4), X)
try_solve(Lt(2 * X, 8), X)
try_solve(Ne(X, Y), X)
try_solve(Gt(Y, X), X)
try_solve(Eq(X * X, 4), X)
PythonPrinter().doprint(FloorDiv(X, 3))
PythonPrinter().doprint(ModularIndexing(X, 2, 4))
PythonPrinter().doprint(X**2 + 1)
PythonPrinter().doprint(Max(X, 3))
PythonPrinter().doprint(CeilDiv(X, 2))
PythonPrinter().doprint(PythonMod(X, 3))
PythonPrinter().doprint(Eq(X, Y))
PythonPrinter().doprint(FloatTrueDiv(X, 2))
PythonPrinter().doprint(Abs(X))
PythonPrinter().doprint(And(X > 0, Y < 3))
make_symbol(SymT.SIZE, 3, integer=True), symbol_is_type(Symbol("s3"), SymT.SIZE)
free_symbol_is_type(Symbol("u1") + 2, SymT.UNBACKED_INT), symbol_is_type(Symbol("zf3"), (SymT.SIZE, SymT.FLOAT))
prefix_str
""".strip().splitlines()


def names_of(root):
    found = dict(NAMES)
    for part in PARTS:
        found |= vars(importlib.import_module(f"{root}.utils._sympy.{part}"))
    return {**found, "Max": sympy.Max, "Min": sympy.Min}


@pytest.mark.parametrize("text", CASES)
def test_as_in_pytorch(text):
    shown = []
    for root in ("torch", "pellucid"):
        try:
            shown.append(str(eval(text, names_of(root))))
        except Exception as error:
            shown.append(f"{type(error).__name__}: {error}")
    assert shown[1] == shown[0]
