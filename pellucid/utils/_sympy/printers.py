"""Expressions as Python."""

from __future__ import annotations

from typing import Any

from sympy.printing.str import StrPrinter


class PythonPrinter(StrPrinter):
    """Writes an expression as Python that computes it."""

    printmethod = "_pythonstr"  # and not how classes show themselves

    def _print_IntInfinity(self, expr: Any) -> str:  # noqa: N802 (sympy's names)
        return "math.inf"

    def _print_NegativeIntInfinity(self, expr: Any) -> str:  # noqa: N802
        return "-math.inf"

    def _in(self, expr: Any, level: float = 999.5) -> str:
        return self.parenthesize(expr, level)

    def _print_ToFloat(self, expr: Any) -> str:  # noqa: N802 (sympy's names)
        return f"float({self._print(expr.args[0])})"

    def _print_And(self, expr: Any) -> str:  # noqa: N802
        return " and ".join(self._in(x, 0) for x in sorted(expr.args, key=str))

    def _print_Or(self, expr: Any) -> str:  # noqa: N802
        return " or ".join(self._in(x, 0) for x in sorted(expr.args, key=str))

    def _print_Relational(self, expr: Any) -> str:  # noqa: N802
        return f"{self._in(expr.lhs, 35)} {expr.rel_op} {self._in(expr.rhs, 35)}"

    def _print_FloorDiv(self, expr: Any) -> str:  # noqa: N802
        return f"{self._in(expr.args[0])} // {self._in(expr.args[1])}"

    _print_CleanDiv = _print_FloorDiv

    def _print_PythonMod(self, expr: Any) -> str:  # noqa: N802
        return f"{self._in(expr.args[0])} % {self._in(expr.args[1])}"

    _print_Mod = _print_PythonMod

    def _print_FloatTrueDiv(self, expr: Any) -> str:  # noqa: N802
        return f"({self._in(expr.args[0])} / {self._in(expr.args[1])})"

    _print_IntTrueDiv = _print_FloatTrueDiv

    def _print_ModularIndexing(self, expr: Any) -> str:  # noqa: N802
        base, divisor, modulus = expr.args
        over = self._in(base) if divisor == 1 else f"({self._in(base)} // {self._in(divisor)})"
        return f"({over} % {self._in(modulus)})"

    def _print_Max(self, expr: Any) -> str:  # noqa: N802
        return f"max({', '.join(map(self._print, expr.args))})"

    def _print_Min(self, expr: Any) -> str:  # noqa: N802
        return f"min({', '.join(map(self._print, expr.args))})"

    def _print_Abs(self, expr: Any) -> str:  # noqa: N802
        return f"abs({self._print(expr.args[0])})"

    def _print_Pow(self, expr: Any, rational: bool = False) -> str:  # noqa: N802
        base, exponent = expr.args
        if exponent.is_Integer and exponent > 0:
            return "*".join([self._in(base)] * int(exponent))
        return f"{self._in(base)} ** {self._in(exponent)}"

    def _print_Where(self, expr: Any) -> str:  # noqa: N802
        return f"Where({', '.join(map(self._print, expr.args))})"

    def _print_Add(self, expr: Any, order: Any = None) -> str:  # noqa: N802
        return " + ".join(self._in(x, 35) for x in sorted(expr.args, key=lambda x: not x.is_number))


ExprPrinter = PythonPrinter
pexpr = PythonPrinter().doprint
