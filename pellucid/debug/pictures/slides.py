"""Single steps of a step-through for slides and papers: the graph at that step as a picture, and
the chain rule as LaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

Steps = list[dict[str, Any]]

_NOW = ".pg .now rect { stroke: #d93025; stroke-width: 3; }"


class _Moment:
    """The boxes of a graph with the values and gradients that are known after a step, the step's
    own box marked.
    """

    def __init__(self, graph: Any, steps: Steps, k: int) -> None:
        made = {step["i"] for step in steps if step["p"] == "forward"}
        values = {step["i"]: step["out"] for step in steps[: k + 1] if step["p"] == "forward"}
        grads = {step["i"]: step["r"] for step in steps[: k + 1] if step["p"] == "backward"}
        self._nodes = [
            replace(
                node,
                kind=f"{node.kind} now" if number == steps[k]["i"] else node.kind,
                value=values.get(number) if number in made else node.value,
                grad=grads.get(number),
            )
            for number, node in enumerate(graph.nodes())
        ]
        self._edges = list(graph.edges())

    def nodes(self) -> list[Any]:
        return self._nodes

    def edges(self) -> list[Any]:
        return self._edges


def slide(graph: Any, steps: Steps, k: int, svg_of: Callable[[Any], str]) -> str:
    """The picture after step `k`."""
    return svg_of(_Moment(graph, steps, k)).replace("</style>", f"\n{_NOW}</style>", 1)


def latex(graph: Any, steps: Steps, k: int) -> list[str]:
    """The chain rule of a backward step, one formula for each gradient that it passes on; none for
    other steps.
    """
    nodes, step = list(graph.nodes()), steps[k]
    names = {s["i"]: re.sub(r"\.grad$", "", s["h"].split("  ")[0]) for s in reversed(steps)}
    whole = next((s["i"] for s in steps if s["p"] == "backward"), step["i"])

    def name(number: int) -> str:
        text = re.sub(r"([\\_#$%&{}^~])", r"\\\1", names.get(number, nodes[number].name))
        return text if re.fullmatch(r"[a-zA-Z]", text) else rf"\mathrm{{{text}}}"

    def derivative(of: int, by: int) -> str:
        return rf"\frac{{\partial {name(of)}}}{{\partial {name(by)}}}"

    formulas = []
    for link in step.get("links", ()):
        goal, here = link["to"], step["i"]
        several = any(
            s is not step and any(to == goal for *_, to in s.get("e", ()))
            for s in steps
            if s["p"] == "backward"
        )
        sign = r"\mathrel{+}=" if several else "="
        if link["w"] == "jacobian":
            right = (
                rf"\left({derivative(here, goal)}\right)^{{\mathsf T}} {derivative(whole, here)}"
            )
        else:
            product = r"\cdot" if link["w"] == "number" else r"\odot"
            right = f"{derivative(whole, here)} {product} {derivative(here, goal)}"
        numbers = ""
        if link["w"] == "number" and link["d"] is not None:
            local = f"({link['d']})" if link["d"].startswith("-") else link["d"]
            numbers = rf" = {link['g']} \cdot {local} = {link['s'].split(' = ')[-1]}"
        formulas.append(f"{derivative(whole, goal)} {sign} {right}{numbers}")
    return formulas
