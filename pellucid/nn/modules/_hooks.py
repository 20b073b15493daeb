"""Module hooks: around forward, around backward, and at registration, for one module or for all."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

from ...core.function import Function
from ...core.modes import local
from ...core.tape import RemovableHandle
from ...core.tensor import Tensor
from ...core.transforms.batching import level_of
from ...core.transforms.capturing import innermost_maps
from ...errors import OperationError, warn
from ._tables import Hooks


class _Table(Hooks):
    """A table of global hooks; whether any exists is known without looking into each."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        global_hooks.present = True

    def pop(self, key: Any, *default: Any) -> Any:
        value = super().pop(key, *default)
        global_hooks.update()
        return value


class _GlobalHooks:
    """Hooks on all modules."""

    def __init__(self) -> None:
        self.present = False
        self.backward_is_full: bool | None = None
        self.forward_pre, self.forward, self.backward_pre, self.backward = (
            _Table(),
            _Table(),
            _Table(),
            _Table(),
        )
        self.with_kwargs, self.always_called = Hooks(), Hooks()

    def update(self) -> None:
        self.present = bool(self.forward_pre or self.forward or self.backward_pre or self.backward)


global_hooks = _GlobalHooks()


class WithGlobalHooks(ModuleType):
    """A module with PyTorch's names for the tables of global hooks. Programs read them, and assign
    empty ones to be rid of all hooks.
    """

    TABLES: ClassVar[dict[str, str]] = {
        "_global_forward_pre_hooks": "forward_pre",
        "_global_forward_hooks": "forward",
        "_global_backward_pre_hooks": "backward_pre",
        "_global_backward_hooks": "backward",
        "_global_forward_hooks_with_kwargs": "with_kwargs",
        "_global_forward_hooks_always_called": "always_called",
    }

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.TABLES:
            super().__setattr__(name, value)
            return
        table = getattr(global_hooks, self.TABLES[name])
        table.clear()
        table.update(value)
        global_hooks.update()


_registration: dict[str, OrderedDict[int, Any]] = {
    "module": OrderedDict(),
    "parameter": OrderedDict(),
    "buffer": OrderedDict(),
}


def _add(
    table: Any, hook: Callable[..., Any], *marks: Any, prepend: bool = False
) -> RemovableHandle:
    handle = RemovableHandle(table, extra_dict=list(marks))
    table[handle.id] = hook
    for mark in marks:
        mark[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def on_registration(kind: str, module: Any, name: str, value: Any) -> Any:
    """What registration hooks make of a value that is about to be registered."""
    for hook in _registration[kind].values():
        result = hook(module, name, value)
        value = value if result is None else result
    return value


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` before any module registers a submodule; it may return
    another.
    """
    return _add(_registration["module"], hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, param)` before any module registers a parameter; it may return
    another.
    """
    return _add(_registration["parameter"], hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` before any module registers a buffer; it may return
    another.
    """
    return _add(_registration["buffer"], hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module; it may return new args."""
    return _add(global_hooks.forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module; it may return a new
    output.
    """
    marks = [global_hooks.with_kwargs] * with_kwargs + [global_hooks.always_called] * always_call
    return _add(global_hooks.forward, hook, *marks)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward of every module."""
    return _add(global_hooks.backward_pre, hook)


def _register_global_backward(hook: Callable[..., Any], full: bool) -> RemovableHandle:
    if global_hooks.backward_is_full is (not full) and global_hooks.backward:
        raise OperationError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them."
        )
    global_hooks.backward_is_full = full
    return _add(global_hooks.backward, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when the gradients of any module's inputs are
    computed.
    """
    return _register_global_backward(hook, True)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """As `register_module_full_backward_hook`, seeing only the last operation of each module's
    forward.
    """
    return _register_global_backward(hook, False)


class HooksMixin:
    """Registering hooks on one module, and the call that runs them."""

    _backward_pre_hooks: OrderedDict[int, Any]
    _backward_hooks: OrderedDict[int, Any]
    _is_full_backward_hook: bool | None
    _forward_hooks: OrderedDict[int, Any]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Any]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    forward: Any

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)`, or `hook(module, args, kwargs)`, before forward; it may return
        new ones.
        """
        marks = [self._forward_pre_hooks_with_kwargs] * with_kwargs
        return _add(self._forward_pre_hooks, hook, *marks, prepend=prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)`, or `hook(module, args, kwargs, output)`, after
        forward; it may return a new output.

        Args:
            prepend: run it before the hooks registered so far.
            with_kwargs: give it the keyword arguments.
            always_call: run it also when forward raised.
        """
        marks = [self._forward_hooks_with_kwargs] * with_kwargs + [
            self._forward_hooks_always_called
        ] * always_call
        return _add(self._forward_hooks, hook, *marks, prepend=prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the gradients of the inputs are computed; it may
        return a new grad_output.
        """
        return _add(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known;
        it may return a new grad_input.
        """
        self._choose_backward(True)
        return _add(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The older form of `register_full_backward_hook`: it sees only the last operation of
        forward.
        """
        self._choose_backward(False)
        return _add(self._backward_hooks, hook)

    def _choose_backward(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise OperationError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only one of them."
            )
        self._is_full_backward_hook = full

    def _call_with_hooks(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        done: set[int] = set()
        outcome: list[Any] = [None, args, kwargs]
        try:
            return self._forward_with_hooks(args, kwargs, done, outcome)
        except Exception:
            self._run_always_called(done, outcome)
            raise

    def _forward_with_hooks(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], done: set[int], outcome: list[Any]
    ) -> Any:
        for key, hook in (*global_hooks.forward_pre.items(), *self._forward_pre_hooks.items()):
            if key in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise OperationError(
                            f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                        )
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        outcome[1:] = args, kwargs
        full = [*(global_hooks.backward.values() if global_hooks.backward_is_full else ())]
        old = [*(() if global_hooks.backward_is_full else global_hooks.backward.values())]
        (full if self._is_full_backward_hook else old).extend(self._backward_hooks.values())
        before = [*global_hooks.backward_pre.values(), *self._backward_pre_hooks.values()]
        watch = _BackwardWatch(self, full, before) if full or before else None
        if watch is not None:
            args = watch.enter(args)
        result = outcome[0] = self.forward(*args, **kwargs)
        for key, hook in (*global_hooks.forward.items(), *self._forward_hooks.items()):
            if key in self._forward_hooks_always_called or key in global_hooks.always_called:
                done.add(key)
            changed = self._call_forward_hook(key, hook, args, kwargs, result)
            if changed is not None:
                result = outcome[0] = changed
        if watch is not None:
            if not isinstance(result, (Tensor, tuple)):
                warn(
                    f"For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received {type(result)}",
                )
            result = watch.leave(result)
        if old:
            first = _first_tensor(result)
            node: Any = first.grad_fn if _wants_grad(first) else None
            if node is not None:
                _warn_non_full(args, result, node)
            for hook in old if node is not None else ():
                node.register_hook(_bound(hook, self))
        return result

    def _call_forward_hook(self, key: int, hook: Any, args: Any, kwargs: Any, result: Any) -> Any:
        if key in self._forward_hooks_with_kwargs or key in global_hooks.with_kwargs:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def _run_always_called(self, done: set[int], outcome: list[Any]) -> None:
        """After an exception: the hooks that asked for it and have not run yet; their own
        exceptions become warnings.
        """
        result, args, kwargs = outcome
        for always, hooks, title in (
            (global_hooks.always_called, global_hooks.forward, "global module"),
            (self._forward_hooks_always_called, self._forward_hooks, "module"),
        ):
            for key, hook in hooks.items():
                if key not in always or key in done:
                    continue
                try:
                    changed = self._call_forward_hook(key, hook, args, kwargs, result)
                    result = result if changed is None else changed
                except Exception as error:
                    warn(
                        f"{title} forward hook with ``always_call=True`` raised an exception that was silenced as another error was "
                        f"raised in forward: {error}",
                    )


def _bound(hook: Any, module: Any) -> Any:
    return lambda grad_input, grad_output: hook(module, grad_input, grad_output)


def _warn_non_full(args: Any, result: Any, node: Any) -> None:
    """Say which gradients an old backward hook, which sits on the result's node alone, will not
    see.
    """
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(t, Tensor) for t in results):
        start, which = (
            "hooks on a Module that does not return a single Tensor or a tuple of Tensors",
            "some of the grad_output",
        )
    elif not all(isinstance(t, Tensor) for t in args):
        start = (
            "hooks on a Module that does not take as input a single Tensor or a tuple of Tensors"
        )
        which = "some of the grad_input"
    elif len({t.grad_fn for t in results if t.grad_fn is not None}) > 1:
        start, which = (
            "hook when outputs are generated by different autograd Nodes",
            "some grad_output",
        )
    elif {t.grad_fn for t in args if t.grad_fn is not None} != {n for n, _ in node.next_functions}:
        start, which = "hook when the forward contains multiple autograd Nodes", "some grad_input"
    else:
        return
    warn(
        f"Using {'' if start.startswith('hooks') else 'a '}non-full backward {start} is deprecated and will be removed in future versions. "
        f"This hook will be missing {which}. Please use register_full_backward_hook to get the documented behavior.",
        FutureWarning,
    )


def _first_tensor(value: Any) -> Any:
    while not isinstance(value, Tensor):
        value = (
            next(v for v in value.values() if isinstance(v, Tensor))
            if isinstance(value, dict)
            else value[0]
        )
    return value


class BackwardHookFunction(Function):
    """Passes tensors through; its nodes mark where a module begins and ends in the graph."""

    # Without `setup_context`, so transforms that differentiate a watched module refuse it, as in
    # PyTorch.
    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        """The tensors themselves, as new ones."""
        ctx.set_materialize_grads(False)
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients themselves."""
        return grads


def _wants_grad(t: Tensor) -> bool:
    """Whether a tensor requires a gradient in the innermost transform, if one runs. Samples of a
    `vmap` do not, nor do the duals of a `jvp`: their gradients belong to transforms further out.
    """
    inside = local.inside
    if local.transforms and innermost_maps():
        return t.requires_grad and not level_of(t)
    if inside is not None and not inside.leaves:
        return t.requires_grad and "tangents" not in (t._x or {})
    return t.requires_grad


class _BackwardWatch:
    """One call of a module whose backward is watched: keeps grad_output until grad_input is there."""

    def __init__(self, module: Any, hooks: list[Any], pre_hooks: list[Any]) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: Any = None
        self.inputs: list[int] | None = None  # positions of tensors among the arguments
        self.outputs: list[int] = []
        self.n_inputs = self.n_outputs = 0

    def _pass_through(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Any]:
        at = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        if not local.grad or not any(_wants_grad(values[i]) for i in at):
            return values, at, None
        marked = BackwardHookFunction.apply(*[values[i] for i in at])
        marked = marked if isinstance(marked, tuple) else (marked,)
        node = next(t.grad_fn for t in marked if t.grad_fn is not None)
        out = list(values)
        for i, t in zip(at, marked):
            out[i] = t
        return tuple(out), at, node

    def _spread(self, grads: Any, at: list[int], count: int) -> tuple[Any, ...]:
        out = [None] * count
        for i, g in zip(at, grads):
            out[i] = g
        return tuple(out)

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Mark the arguments."""
        args, at, node = self._pass_through(args)
        self.n_inputs = len(args)
        if node is not None:
            self.inputs = at
            node.register_hook(self._inputs_done)
        return args

    def leave(self, result: Any) -> Any:
        """Mark the results."""
        values = result if isinstance(result, tuple) else (result,)
        values, at, node = self._pass_through(values)
        self.outputs, self.n_outputs = at, len(values)
        if node is not None:
            node.register_prehook(self._outputs_begin)
        if not isinstance(result, tuple):
            return values[0]
        return type(result)(*values) if hasattr(result, "_fields") else values

    def _outputs_begin(self, grads: Any) -> Any:
        grads = grads if isinstance(grads, tuple) else (grads,)
        spread = self._spread(grads, self.outputs, self.n_outputs)
        for hook in self.pre_hooks:
            changed = hook(self.module, spread)
            if changed is not None:
                spread = changed if isinstance(changed, tuple) else (changed,)
        self.grad_outputs = spread
        if self.inputs is None:
            # No input wants a gradient: this is the only moment to call the hooks.
            warn(
                "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
                "gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_"
                "backward_hook for more details.",
            )
            nothing = (None,) * self.n_inputs
            for hook in self.hooks:
                changed = hook(self.module, nothing, spread)
                if changed is not None and not (
                    isinstance(changed, tuple) and all(c is None for c in changed)
                ):
                    raise OperationError(
                        "Backward hook for Modules where no input requires gradient should always return None or None for all gradients."
                    )
            self.grad_outputs = None
        return tuple(spread[i] for i in self.outputs)

    def _inputs_done(self, grad_inputs: Any, _: Any) -> Any:
        if self.grad_outputs is None:
            return None
        assert self.inputs is not None
        spread = self._spread(grad_inputs, self.inputs, self.n_inputs)
        for hook in self.hooks:
            changed = hook(self.module, spread, self.grad_outputs)
            if changed is not None:
                changed = changed if isinstance(changed, tuple) else (changed,)
                if len(changed) != len(spread):
                    raise OperationError(
                        f"Backward hook returned an invalid number of grad_input, got {len(changed)}, but expected {len(spread)}"
                    )
                spread = changed
        self.grad_outputs = None
        return tuple(spread[i] for i in self.inputs)
