"""Quantizing models module by module: prepare, calibrate, convert; or at once, dynamically."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

from ... import nn
from ...core.modes import no_grad
from ...dtypes import float16
from ...errors import UnsupportedError, warn
from ..nn import quantized as nnq
from ..nn.intrinsic.modules.fused import _FusedModule
from .fake_quantize import FakeQuantizeBase
from .observer import ObserverBase, qint8, quint8
from .qconfig import (
    _assert_valid_qconfig,
    default_dynamic_qconfig,
    float_qparams_weight_only_qconfig,
)
from .quantization_mappings import (
    DEFAULT_MODULE_TO_ACT_POST_PROCESS,
    get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
)
from .stubs import DeQuantStub, QuantWrapper

is_activation_post_process = (ObserverBase, FakeQuantizeBase)


def get_default_custom_config_dict() -> dict[str, Any]:
    """Return how modules that observe themselves are prepared and converted: an empty configuration.

    >>> from pellucid.ao import quantization as q
    >>> sorted(q.get_default_custom_config_dict())
    ['float_to_observed_custom_module_class', 'observed_to_quantized_custom_module_class']
    """
    return {
        "float_to_observed_custom_module_class": {},
        "observed_to_quantized_custom_module_class": {},
    }


# ---- configurations -------------------------------------------------------------------------------
def _propagate(module: Any, qconfig_dict: Any, parent: Any, prefix: str) -> None:
    config = qconfig_dict.get(type(module), parent)
    config = qconfig_dict.get(prefix, config)
    config = getattr(module, "qconfig", config)
    _assert_valid_qconfig(config, module)
    module.qconfig = config
    for name, child in module.named_children():
        _propagate(child, qconfig_dict, config, f"{prefix}.{name}" if prefix else name)


def propagate_qconfig_(
    module: Any, qconfig_dict: Any = None, prepare_custom_config_dict: Any = None
) -> None:
    """Give each module the configuration of its parent, or the one that `qconfig_dict` has for its name or class.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    >>> q.propagate_qconfig_(model, {"0": q.default_qconfig})
    >>> model[0].qconfig is q.default_qconfig, model[1].qconfig
    (True, None)
    """
    qconfig_dict = qconfig_dict or {}
    _propagate(module, qconfig_dict, qconfig_dict.get("", None), "")


# ---- observers --------------------------------------------------------------------------------------
def _observes(module: Any, x: Any, result: Any) -> Any:
    return module.activation_post_process(result)


def _observes_input(module: Any, args: Any) -> Any:
    return module.activation_post_process(args[0])


_observer_forward_hook, _observer_forward_pre_hook = _observes, _observes_input


def _register_activation_post_process_hook(module: Any, pre_hook: bool = False) -> None:
    if not hasattr(module, "activation_post_process"):
        raise AssertionError(
            "Expect activation_post_process attribute already attached to the module"
        )
    if pre_hook:
        module.register_forward_pre_hook(_observes_input, prepend=True)
    else:
        module.register_forward_hook(_observes, prepend=True)


def _has_children(module: Any) -> bool:
    return bool(module._modules)


def _add_observer_(
    module: Any, propagation: Any = None, non_leaf: Any = None, custom: Any = None
) -> None:  # fmt: skip
    if propagation is None:
        propagation = get_default_qconfig_propagation_list()

    def needs(m: Any) -> bool:
        return getattr(m, "qconfig", None) is not None

    def insert(m: Any, special: Any = None) -> None:
        if needs(m) and not isinstance(m, DeQuantStub):
            observer = m.qconfig.activation() if special is None else special()
            m.add_module("activation_post_process", observer)
            _register_activation_post_process_hook(m)

    for child in list(module.children()):
        kind = type(child)
        if kind is nn.Dropout:
            continue
        if isinstance(child, (nnq.FloatFunctional, nnq.QFunctional)):
            if needs(child):
                child.activation_post_process = child.qconfig.activation()
        elif isinstance(child, _FusedModule):
            if needs(child):
                insert(child)
        elif non_leaf is not None and kind in non_leaf:
            if needs(child):
                insert(child)
        elif (
            needs(child)
            and kind in DEFAULT_MODULE_TO_ACT_POST_PROCESS
            and not isinstance(child.qconfig.activation(), FakeQuantizeBase)
        ):
            insert(child, _fixed(kind))
        elif needs(child) and kind in DEFAULT_MODULE_TO_ACT_POST_PROCESS:
            insert(child, DEFAULT_MODULE_TO_ACT_POST_PROCESS[kind])
        else:
            _add_observer_(child, propagation, non_leaf, custom)
    if (
        not _has_children(module)
        and not isinstance(module, nn.Sequential)
        and type(module) in propagation
    ):
        insert(module)
    if (
        hasattr(module, "weight_fake_quant")
        and not isinstance(module, nn.Sequential)
        and type(module) in propagation
        and not hasattr(module, "activation_post_process")
    ):
        insert(module)


def _fixed(kind: Any) -> Any:
    """The observer alone of a rounding with parameters that are given."""
    return lambda: DEFAULT_MODULE_TO_ACT_POST_PROCESS[kind]().activation_post_process


def _deprecated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which warns that PyTorch is about to remove it."""

    @functools.wraps(function)
    def warned(*args: Any, **kwargs: Any) -> Any:
        warn(_REMOVAL, DeprecationWarning)
        return function(*args, **kwargs)

    return warned


_REMOVAL = (
    "torch.ao.quantization is deprecated and will be removed in 2.10. \nFor migrations of users: \n1. Eager mode quantization "
    "(torch.ao.quantization.quantize, torch.ao.quantization.quantize_dynamic), please migrate to use torchao eager mode quantize_ API "
    "instead \n2. FX graph mode quantization (torch.ao.quantization.quantize_fx.prepare_fx,torch.ao.quantization.quantize_fx.convert_fx, "
    "please migrate to use torchao pt2e quantization API instead (prepare_pt2e, convert_pt2e) \n3. pt2e quantization has been migrated "
    "to torchao (https://github.com/pytorch/ao/tree/main/torchao/quantization/pt2e) \nsee https://github.com/pytorch/ao/issues/2259 "
    "for more details"
)


@_deprecated
def prepare(
    model: Any,
    inplace: bool = False,
    allow_list: Any = None,
    observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: Any = None,
) -> Any:
    """Insert observers behind the modules whose results will be quantized; `model.qconfig` says how.

    Run the model on representative data afterwards (calibration), then `convert` it.

    Args:
        model: a model in evaluation mode.
        inplace: change the model itself. Default: False, a copy.
        allow_list: the module classes to observe. Default: those that `convert` can replace.
        observer_non_leaf_module_list: further classes to observe, of modules that contain others.
        prepare_custom_config_dict: accepted.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> model = q.QuantWrapper(torch.nn.Linear(2, 2)).eval()
    >>> model.qconfig = q.default_qconfig
    >>> prepared = q.prepare(model)
    >>> _ = prepared(torch.tensor([[0.0, 1.27]]))
    >>> q.convert(prepared).quant
    Quantize(scale=tensor([0.0100]), zero_point=tensor([0]), dtype=torch.quint8)
    """
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model, None)
    if not any(getattr(m, "qconfig", None) for m in model.modules()):
        warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through `qconfig_dict` "
            "or by assigning the `.qconfig` attribute directly on submodules",
        )
    _add_observer_(model, allow_list, observer_non_leaf_module_list)
    return model


def _remove_activation_post_process(module: Any) -> None:
    if isinstance(getattr(module, "activation_post_process", None), is_activation_post_process):
        delattr(module, "activation_post_process")
    for hooks, own in (
        (module._forward_hooks, _observes),
        (module._forward_pre_hooks, _observes_input),
    ):
        for key, hook in list(hooks.items()):
            if hook is own:
                hooks.pop(key)


def _remove_qconfig(module: Any) -> None:
    for child in module.children():
        _remove_qconfig(child)
    if hasattr(module, "qconfig"):
        del module.qconfig
    _remove_activation_post_process(module)


# ---- conversion ---------------------------------------------------------------------------------------
def swap_module(
    mod: Any,
    mapping: Any,
    custom_module_class_mapping: Any = None,
    use_precomputed_fake_quant: bool = False,
) -> Any:
    """Return the quantized module that replaces a module, with its hooks; the module itself if nothing replaces it.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> model = torch.nn.Sequential(q.QuantStub(), torch.nn.Linear(2, 2), q.DeQuantStub()).eval()
    >>> model.qconfig = q.default_qconfig
    >>> prepared = q.prepare(model)
    >>> _ = prepared(torch.tensor([[0.0, 1.0]]))  # calibration
    >>> linear = q.swap_module(prepared[1], q.get_default_static_quant_module_mappings())
    >>> type(linear).__module__
    'pellucid.ao.nn.quantized.modules.linear'
    """
    if getattr(mod, "qconfig", None) is None or type(mod) not in mapping:
        return mod
    made = mapping[type(mod)].from_float(mod)
    for hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observes:
            made.register_forward_hook(hook)
    return made


def _convert(module: Any, mapping: Any) -> None:
    replaced = {}
    for name, child in module.named_children():
        swapped = type(child) in mapping and getattr(child, "qconfig", None) is not None
        if not isinstance(child, _FusedModule) and not swapped:
            _convert(child, mapping)
        replaced[name] = swap_module(child, mapping)
    for name, child in replaced.items():
        module._modules[name] = child


@_deprecated
def convert(
    module: Any,
    mapping: Any = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    is_reference: bool = False,
    convert_custom_config_dict: Any = None,
    use_precomputed_fake_quant: bool = False,
) -> Any:
    """Replace the modules of a prepared model by quantized ones; `prepare` has an example.

    Args:
        module: a model that `prepare` or `prepare_qat` returned, after calibration or training.
        mapping: which class replaces which. Default: `get_default_static_quant_module_mappings()`.
        inplace: change the model itself. Default: False, a copy.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> model = torch.nn.Sequential(q.QuantStub(), torch.nn.Linear(2, 2), q.DeQuantStub()).eval()
    >>> model.qconfig = q.default_qconfig
    >>> prepared = q.prepare(model)
    >>> _ = prepared(torch.tensor([[0.0, 1.0]]))  # calibration
    >>> [type(layer).__name__ for layer in q.convert(prepared)]
    ['Quantize', 'Linear', 'DeQuantize']
    """
    if is_reference:
        raise UnsupportedError(
            "reference modules are not supported: convert with is_reference=False"
        )
    if not inplace:
        module = copy.deepcopy(module)
    with no_grad():
        _convert(module, get_default_static_quant_module_mappings() if mapping is None else mapping)
    if remove_qconfig:
        _remove_qconfig(module)
    return module


def default_eval_fn(model: Any, calib_data: Any) -> None:
    """Run a model on data: (input, target) pairs, whose targets are ignored. For `quantize(run_fn=)`.

    >>> import pellucid as torch
    >>> data = [(torch.ones(1, 2), 0), (torch.zeros(1, 2), 1)]
    >>> torch.ao.quantization.default_eval_fn(lambda x: print(x), data)
    tensor([[1., 1.]])
    tensor([[0., 0.]])
    """
    for data, _target in calib_data:
        model(data)


@_deprecated
def quantize(
    model: Any, run_fn: Any, run_args: Any, mapping: Any = None, inplace: bool = False
) -> Any:
    """Do `prepare`, `run_fn(model, *run_args)` and `convert` in one call.

    >>> import pellucid as torch
    >>> from pellucid.ao.quantization import QuantWrapper, default_qconfig
    >>> from pellucid.ao.quantization.quantize import quantize
    >>> model = QuantWrapper(torch.nn.Linear(2, 2)).eval()
    >>> model.qconfig = default_qconfig
    >>> small = quantize(model, lambda m, x: m(x), (torch.randn(8, 2),))
    >>> small(torch.randn(3, 2)).shape, small.module.weight().dtype
    (torch.Size([3, 2]), torch.qint8)
    """
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    convert(
        model,
        get_default_static_quant_module_mappings() if mapping is None else mapping,
        inplace=True,
    )
    return model


@_deprecated
def quantize_dynamic(
    model: Any,
    qconfig_spec: Any = None,
    dtype: Any = qint8,
    mapping: Any = None,
    inplace: bool = False,
) -> Any:
    """Quantize weights now and inputs whenever the model runs; nothing has to be calibrated.

    Args:
        qconfig_spec: the types (or names) of modules, or a dictionary from them to configurations;
            when left out, linear layers, LSTMs, GRUs and cells.
        dtype: `torch.qint8`; `torch.quint8` for embeddings.

    Raises:
        ValueError: another dtype.

    >>> import pellucid as torch
    >>> torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(3, 2)), {torch.nn.Linear})
    Sequential(
      (0): DynamicQuantizedLinear(in_features=3, out_features=2, dtype=torch.qint8, qscheme=torch.per_tensor_affine)
    )
    """
    if qconfig_spec is None:
        if dtype is qint8:
            kinds: tuple[Any, ...] = (
                nn.Linear,
                nn.LSTM,
                nn.GRU,
                nn.LSTMCell,
                nn.RNNCell,
                nn.GRUCell,
            )
            qconfig_spec = dict.fromkeys(kinds, default_dynamic_qconfig)
        elif dtype is quint8:
            qconfig_spec = dict.fromkeys(
                (nn.EmbeddingBag, nn.Embedding), float_qparams_weight_only_qconfig
            )
        elif dtype is float16:
            raise UnsupportedError(
                "dynamic quantisation to torch.float16 is not supported; torch.qint8 is"
            )
        else:
            raise ValueError(
                f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please"
            )
    elif isinstance(qconfig_spec, set):
        if dtype is qint8:
            default: Any = default_dynamic_qconfig
        elif dtype is quint8:
            default = float_qparams_weight_only_qconfig
        elif dtype is float16:
            raise UnsupportedError(
                "dynamic quantisation to torch.float16 is not supported; torch.qint8 is"
            )
        else:
            raise RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))
        qconfig_spec = dict.fromkeys(qconfig_spec, default)
    if mapping is None:
        mapping = get_default_dynamic_quant_module_mappings()
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    convert(model, mapping, inplace=True)
    return model


# ---- training ---------------------------------------------------------------------------------------------
@_deprecated
def prepare_qat(model: Any, mapping: Any = None, inplace: bool = False) -> Any:
    """Insert fake quantizers for weights and results into a model that will be trained.

    Train the model afterwards, put it into evaluation mode, and `convert` it.

    Args:
        model: a model in training mode, with `model.qconfig`.
        mapping: which class replaces which. Default: `get_default_qat_module_mappings()`.
        inplace: change the model itself. Default: False, a copy.

    Raises:
        AssertionError: the model is not in training mode.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> model = q.QuantWrapper(torch.nn.Linear(2, 1)).train()
    >>> model.qconfig = q.get_default_qat_qconfig("qnnpack")
    >>> trained = q.prepare_qat(model)
    >>> trained(torch.randn(4, 2)).sum().backward()
    >>> trained.module.weight.grad.shape, q.convert(trained.eval()).module.weight().dtype
    (torch.Size([1, 2]), torch.qint8)
    """
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    if mapping is None:
        mapping = get_default_qat_module_mappings()
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model, None)
    convert(model, mapping=mapping, inplace=True, remove_qconfig=False)
    prepare(model, observer_non_leaf_module_list=set(mapping.values()), inplace=True)
    return model


@_deprecated
def quantize_qat(model: Any, run_fn: Any, run_args: Any, inplace: bool = False) -> Any:
    """Do `prepare_qat`, `run_fn(model, *run_args)` and `convert` in one call.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> model = torch.nn.Sequential(q.QuantStub(), torch.nn.Linear(2, 2), q.DeQuantStub()).train()
    >>> model.qconfig = q.get_default_qat_qconfig("qnnpack")
    >>> def train(model, data):
    ...     model(data).sum().backward()
    >>> quantized = q.quantize_qat(model, train, (torch.ones(1, 2),))
    >>> [type(layer).__name__ for layer in quantized]
    ['Quantize', 'Linear', 'DeQuantize']
    """
    if not inplace:
        model = copy.deepcopy(model)
    model.train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, inplace=True)
    return model


def add_quant_dequant(module: Any) -> Any:
    """Wrap the leaf modules that have a configuration in `QuantWrapper`.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    >>> model[0].qconfig = q.default_qconfig
    >>> type(q.add_quant_dequant(model)[0]).__name__
    'QuantWrapper'
    """
    if not _has_children(module) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


__all__ = [
    "add_quant_dequant",
    "convert",
    "default_eval_fn",
    "get_default_custom_config_dict",
    "is_activation_post_process",
    "prepare",
    "prepare_qat",
    "propagate_qconfig_",
    "quantize",
    "quantize_dynamic",
    "quantize_qat",
    "swap_module",
]
