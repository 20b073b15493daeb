"""Forward and backward of a function as two graphs of operators, for custom compilers
(`torch._functorch.aot_autograd`, `functorch.compile`).

Both are traced ahead, as one joint graph. A partition function decides what the forward graph keeps
for the backward graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._pytree import tree_flatten, tree_unflatten
from ..autograd import Function, grad
from ..core.modes import enable_grad, local
from ..core.tensor import Tensor
from ..func import functional_call
from ..fx.experimental.proxy_tensor import make_fx
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..nn import Module
from ..random import fork_rng

__all__ = [
    "aot_function",
    "aot_module",
    "aot_module_simplified",
    "default_partition",
    "make_boxed_compiler",
    "make_boxed_func",
    "min_cut_rematerialization_partition",
    "nop",
]


def make_boxed_func(f: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that it takes its arguments in one list, which it may empty.

    >>> make_boxed_func(lambda a, b: a + b)([1, 2])
    3
    """

    def g(args: list[Any]) -> Any:
        return f(*args)

    g._boxed_call = True  # type: ignore[attr-defined]
    return g


def make_boxed_compiler(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a compiler so that the functions it returns take their arguments in one list."""
    return lambda gm, example: make_boxed_func(compiler(gm, example))


def nop(fx_g: GraphModule, _: Any) -> Callable[..., Any]:
    """A compiler that returns the graph's own code."""
    return make_boxed_func(fx_g.forward)


def _call(compiled: Callable[..., Any], args: Sequence[Any]) -> list[Any]:
    made = compiled(list(args)) if getattr(compiled, "_boxed_call", False) else compiled(*args)
    return list(made) if isinstance(made, (tuple, list)) else [made]


# ---- graphs ------------------------------------------------------------------------------------
def _copies(values: Sequence[Any]) -> list[Any]:
    """Copies of the tensors with the same values and `requires_grad`, which may be written to."""
    made = []
    for v in values:
        if isinstance(v, Tensor):
            copy = v.detach().clone()
            v = copy.requires_grad_(v.requires_grad)
            if v.requires_grad:
                with enable_grad():
                    v = v.view_as(v)  # a view is not a leaf, so it may be written to
        made.append(v)
    return made


def _traced(fn: Callable[..., Any], args: list[Any], table: dict[Any, Any] | None) -> GraphModule:
    with fork_rng():
        return make_fx(fn, table)(*args)


def _joint(
    fn: Callable[..., list[Any]], primals: list[Any], table: dict[Any, Any] | None
) -> tuple[GraphModule, list[int]]:
    """The joint graph, from (inputs, gradients of results) to (results, gradients of inputs), and
    the indices of the results that require a gradient.
    """
    with fork_rng(), enable_grad():
        results = fn(*_copies(primals))
    wanted = [k for k, r in enumerate(results) if isinstance(r, Tensor) and r.requires_grad]
    tangents = [results[k].detach().clone().fill_(1) for k in wanted]

    def joint(primals: list[Any], tangents: list[Any]) -> tuple[Any, ...]:
        with enable_grad():
            made = fn(*primals)
            needed = [p for p in primals if isinstance(p, Tensor) and p.requires_grad]
            found = iter(grad([made[k] for k in wanted], needed, tangents, allow_unused=True))
        grads = [
            next(found) if isinstance(p, Tensor) and p.requires_grad else None for p in primals
        ]
        return (*made, *grads)

    return _traced(joint, [_copies(primals), tangents], table), wanted


def default_partition(
    joint_module: GraphModule, _joint_inputs: Any, *, num_fwd_outputs: int, **_: Any
) -> tuple[GraphModule, GraphModule]:
    """Split a joint graph into forward and backward. Everything that the results need is forward,
    the rest is backward; the values that backward reads from the forward part become additional
    results.

    Args:
        joint_module: the joint graph, whose inputs are called `primals_1`, ..., `tangents_1`, ...
        num_fwd_outputs: how many of its results are those of the function.
    """
    graph = joint_module.graph
    results = _flat(graph.output_node().args[0])
    outputs, grads = results[:num_fwd_outputs], results[num_fwd_outputs:]
    primals = [n for n in graph.nodes if n.op == "placeholder" and not _is_tangent(n)]
    tangents = [n for n in graph.nodes if n.op == "placeholder" and _is_tangent(n)]
    early = _needed([o for o in outputs if isinstance(o, Node)]) | set(primals) | _writes(graph)
    late = _needed([g for g in grads if isinstance(g, Node)]) - early
    kept = [
        n for n in graph.nodes if n in early and (any(u in late for u in n.users) or n in grads)
    ]
    forward = _part(joint_module, primals, (*outputs, *kept), early)
    backward = _part(joint_module, [*kept, *tangents], tuple(grads), late)
    return forward, backward


min_cut_rematerialization_partition = default_partition


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


def _needed(nodes: list[Node]) -> set[Node]:
    """The nodes and all nodes from which they are computed."""
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.all_input_nodes
    return found


def _is_tangent(node: Node) -> bool:
    return str(node.name).startswith("tangents")


def _writes(graph: Graph) -> set[Node]:
    """The writes that belong to the forward part (they need no tangent), and the nodes they depend
    on.
    """
    found: set[Node] = set()
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is not None and schema.is_mutable:
            needed = _needed([node])
            if not any(_is_tangent(n) for n in needed):
                found |= needed
    return found


def _part(
    whole: GraphModule, inputs: list[Node], outputs: tuple[Any, ...], nodes: set[Node]
) -> GraphModule:
    """Extract the given nodes of a graph as a graph from `inputs` to `outputs`."""
    graph = Graph()
    known: dict[Node, Node] = {}
    for node in inputs:
        known[node] = graph.placeholder(node.name)
        known[node].meta = dict(node.meta)
    for node in whole.graph.nodes:
        if node in nodes and node not in known:
            known[node] = graph.node_copy(node, lambda n: known[n])
    graph.output(tuple([known[o] if isinstance(o, Node) else o for o in outputs]))
    return GraphModule(whole, graph)


def _named(gm: GraphModule, primals: int) -> GraphModule:
    """Rename the inputs of a joint graph as in PyTorch."""
    for k, node in enumerate(n for n in gm.graph.nodes if n.op == "placeholder"):
        late = k >= primals
        node.name = f"tangents_{k - primals + 1}" if late else f"primals_{k + 1}"
        node.target = node.name
    return gm


# ---- compiled ----------------------------------------------------------------------------------
def _compiled(
    fn: Callable[..., list[Any]],
    primals: list[Any],
    fw_compiler: Callable[..., Any],
    bw_compiler: Callable[..., Any],
    inference_compiler: Callable[..., Any],
    partition_fn: Callable[..., Any],
    table: dict[Any, Any] | None,
) -> Callable[..., list[Any]]:
    """Trace and compile a function that takes tensors and returns a list, forward and backward."""
    wants = local.grad and any(isinstance(p, Tensor) and p.requires_grad for p in primals)
    if not wants:
        plain = [p.detach().clone() if isinstance(p, Tensor) else p for p in primals]
        gm = _named(_traced(lambda *args: tuple(fn(*args)), plain, table), len(primals))
        every = {n for n in gm.graph.nodes if n.op != "output"}
        flat = _part(gm, _inputs(gm), tuple(_flat(_result(gm))), every)
        run = inference_compiler(flat, list(primals))
        return lambda *args: _call(run, args)
    joint, wanted = _joint(fn, primals, table)
    _named(joint, len(primals))
    count = len(_flat(_result(joint))) - len(primals)
    forward, backward = partition_fn(joint, primals, num_fwd_outputs=count)
    run_forward = fw_compiler(forward, list(primals))
    state: dict[str, Any] = {}

    class CompiledFunction(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            made = _call(run_forward, args)
            results, kept = made[:count], made[count:]
            ctx.others = [None if isinstance(k, Tensor) else k for k in kept]
            ctx.save_for_backward(*[k if isinstance(k, Tensor) else None for k in kept])
            still = [r for k, r in enumerate(results) if k not in wanted and isinstance(r, Tensor)]
            ctx.mark_non_differentiable(*still)
            return tuple(results)

        @staticmethod
        def backward(ctx: Any, *given: Any) -> Any:
            kept = [
                o if t is None else t for t, o in zip(ctx.saved_tensors, ctx.others, strict=True)
            ]
            args = [*kept, *[given[k].contiguous() for k in wanted]]
            if "run" not in state:
                state["run"] = bw_compiler(backward, args)
            return tuple(_call(state["run"], args))

    return lambda *args: list(CompiledFunction.apply(*args))


def _inputs(gm: GraphModule) -> list[Node]:
    return [n for n in gm.graph.nodes if n.op == "placeholder"]


def _result(gm: GraphModule) -> Any:
    return gm.graph.output_node().args[0]


def aot_function(
    fn: Callable[..., Any],
    fw_compiler: Callable[..., Any],
    bw_compiler: Callable[..., Any] | None = None,
    partition_fn: Callable[..., Any] = default_partition,
    decompositions: dict[Any, Any] | None = None,
    num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable[..., Any] | None = None,
    *,
    dynamic: bool = False,
    enable_log: bool = True,
) -> Callable[..., Any]:
    """A function whose forward and backward graphs are compiled by the given compilers. They are
    traced at the first call with arguments of each kind.

    Args:
        fn: a function of tensors in containers.
        fw_compiler: called with the forward graph and its inputs; what it returns computes it.
        bw_compiler: the same for the backward graph. Default: `fw_compiler`.
        partition_fn: takes the joint graph apart.
        decompositions: {operator: a function that stands for it}.
        inference_compiler: used where nothing wants a gradient. Default: `fw_compiler`.

    Example:
        >>> import pellucid as torch
        >>> from pellucid.compiler.ahead import aot_function, nop
        >>> f = aot_function(lambda x: x.sin().sum(), nop)
        >>> x = torch.zeros(2, requires_grad=True)
        >>> f(x).backward()
        >>> x.grad
        tensor([1., 1.])
    """
    backward, plain = bw_compiler or fw_compiler, inference_compiler or fw_compiler
    made: dict[Any, tuple[Any, list[Any]]] = {}

    def returned(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten((args, kwargs))
        places = [k for k, x in enumerate(leaves) if isinstance(x, Tensor)]
        tensors = [leaves[k] for k in places]
        key = repr(
            [
                (tuple(x.shape), x.stride(), x.dtype, x.requires_grad)
                if isinstance(x, Tensor)
                else x
                for x in leaves
            ]
            + [spec, local.grad]
        )
        if key not in made:
            out_spec: list[Any] = []

            def flat(*given: Any) -> list[Any]:
                filled = list(leaves)
                for k, x in zip(places, given, strict=True):
                    filled[k] = x
                a, kw = tree_unflatten(filled, spec)
                results, out = tree_flatten(fn(*a, **kw))
                out_spec[:] = [out]
                return results

            run = _compiled(
                flat, tensors, fw_compiler, backward, plain, partition_fn, decompositions
            )
            made[key] = run, out_spec
        run, out_spec = made[key]
        return tree_unflatten(run(*tensors), out_spec[0])

    return returned


def aot_module(mod: Module, *args: Any, **kwargs: Any) -> Module:
    """As `aot_function`, for a module; its parameters and buffers are inputs of the graphs."""
    if not isinstance(mod, Module):
        raise AssertionError(f"expected nn.Module, got {type(mod)}")
    run = aot_function(
        lambda params, buffers, a, kw: functional_call(mod, {**params, **buffers}, a, kw),
        *args,
        **kwargs,
    )

    class AOTModule(Module):
        def __init__(self) -> None:
            super().__init__()
            self.orig_module = mod

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return run(dict(mod.named_parameters()), dict(mod.named_buffers()), args, kwargs)

    return AOTModule()


def aot_module_simplified(
    mod: Any,
    args: Sequence[Any],
    fw_compiler: Callable[..., Any],
    bw_compiler: Callable[..., Any] | None = None,
    partition_fn: Callable[..., Any] = default_partition,
    decompositions: dict[Any, Any] | None = None,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Callable[..., Any] | None = None,
    **_: Any,
) -> Callable[..., Any]:
    """Compile the graph that a backend of `torch.compile` receives, forward and backward. The
    module's parameters and buffers are passed before `args`.
    """
    state = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
    names = list(state)

    def flat(*given: Any) -> list[Any]:
        own = dict(zip(names, given[: len(names)], strict=True))
        made = functional_call(mod, own, tuple(given[len(names) :])) if own else mod(*given)
        return _flat(made)

    run = _compiled(
        flat,
        [*state.values(), *args],
        fw_compiler,
        bw_compiler or fw_compiler,
        inference_compiler or fw_compiler,
        partition_fn,
        decompositions,
    )
    return lambda *given: run(*state.values(), *given)
