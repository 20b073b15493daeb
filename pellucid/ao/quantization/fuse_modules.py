"""Fusing modules that follow each other: convolutions with batch norms and ReLUs."""

from __future__ import annotations

import copy
from typing import Any

from ... import nn
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from ..nn import intrinsic as nni

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]

_RELUS = {
    nn.Conv1d: nni.ConvReLU1d,
    nn.Conv2d: nni.ConvReLU2d,
    nn.Conv3d: nni.ConvReLU3d,
    nn.Linear: nni.LinearReLU,
    nn.BatchNorm2d: nni.BNReLU2d,
    nn.BatchNorm3d: nni.BNReLU3d,
}
_NORMS = {
    nn.Conv1d: nni.ConvBn1d,
    nn.Conv2d: nni.ConvBn2d,
    nn.Conv3d: nni.ConvBn3d,
    nn.Linear: nni.LinearBn1d,
}
_BOTH = {nn.Conv1d: nni.ConvBnReLU1d, nn.Conv2d: nni.ConvBnReLU2d, nn.Conv3d: nni.ConvBnReLU3d}
_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Any:
    """Fuse a convolution with the batch norm that follows it.

    Args:
        is_qat: the model will be trained; the result then is a module that contains both.
        conv, bn: the modules, in the same mode.

    >>> import pellucid as torch
    >>> conv, bn = torch.nn.Conv2d(3, 8, 3).eval(), torch.nn.BatchNorm2d(8).eval()
    >>> x = torch.randn(1, 3, 5, 5)
    >>> fused = torch.ao.quantization.fuse_conv_bn(False, conv, bn)
    >>> torch.allclose(fused(x), bn(conv(x)), atol=1e-5)
    True
    """
    _same_mode(conv, bn)
    if is_qat:
        if bn.num_features != conv.out_channels:
            raise AssertionError("Output channel of Conv2d must match num_features of BatchNorm2d")
        if type(conv) not in _NORMS:
            raise NotImplementedError(f"Cannot fuse train modules: {(conv, bn)}")
        return _NORMS[type(conv)](conv, bn)
    return fuse_conv_bn_eval(conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Any:
    """Fuse a convolution with the batch norm and the ReLU that follow it; see `fuse_conv_bn`.

    >>> import pellucid as torch
    >>> parts = torch.nn.Conv2d(3, 8, 3).eval(), torch.nn.BatchNorm2d(8).eval(), torch.nn.ReLU().eval()
    >>> type(torch.ao.quantization.fuse_conv_bn_relu(False, *parts)).__name__
    'ConvReLU2d'
    """
    _same_mode(conv, bn)
    if is_qat:
        if type(conv) not in _BOTH:
            raise NotImplementedError(f"Cannot fuse train modules: {(conv, bn, relu)}")
        return _BOTH[type(conv)](conv, bn, relu)
    return _RELUS[type(conv)](fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Any:
    """Fuse a linear layer with the batch norm that follows it; see `fuse_conv_bn`.

    >>> import pellucid as torch
    >>> linear, bn = torch.nn.Linear(3, 2).eval(), torch.nn.BatchNorm1d(2).eval()
    >>> torch.ao.quantization.fuse_linear_bn(False, linear, bn)
    Linear(in_features=3, out_features=2, bias=True)
    """
    _same_mode(linear, bn)
    return nni.LinearBn1d(linear, bn) if is_qat else fuse_linear_bn_eval(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Any:
    """Fuse a transposed convolution with the batch norm that follows it; see `fuse_conv_bn`.

    >>> import pellucid as torch
    >>> conv, bn = torch.nn.ConvTranspose2d(3, 8, 3).eval(), torch.nn.BatchNorm2d(8).eval()
    >>> type(torch.ao.quantization.fuse_convtranspose_bn(False, conv, bn)).__name__
    'ConvTranspose2d'
    """
    _same_mode(convt, bn)
    if is_qat:
        raise Exception("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")
    return fuse_conv_bn_eval(convt, bn, transpose=True)


def _same_mode(a: Any, b: Any) -> None:
    if a.training != b.training:
        raise AssertionError("Conv and BN both must be in the same mode (train or eval).")


def _with_relu(kind: Any) -> Any:
    return lambda is_qat, a, relu: kind(a, relu)


def get_fuser_method(op_list: Any, additional_fuser_method_mapping: Any = None) -> Any:
    """Return the function that fuses modules of these classes.

    Raises:
        AssertionError: there is none.

    >>> import pellucid as torch
    >>> torch.ao.quantization.get_fuser_method((torch.nn.Linear, torch.nn.BatchNorm1d)).__name__
    'fuse_linear_bn'
    """
    known = (additional_fuser_method_mapping or {}).get(tuple(op_list))
    if known is not None:
        return known
    kinds = tuple(op_list)
    first, rest = kinds[0], kinds[1:]
    if rest == (nn.ReLU,) and first in _RELUS:
        return _with_relu(_RELUS[first])
    if len(rest) and rest[0] in _BATCH_NORMS:
        if first in _BOTH and len(rest) == 2 and rest[1] is nn.ReLU:
            return fuse_conv_bn_relu
        if len(rest) == 1 and first in _BOTH:
            return fuse_conv_bn
        if len(rest) == 1 and first is nn.Linear:
            return fuse_linear_bn
        if len(rest) == 1 and first in (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d):
            return fuse_convtranspose_bn
    raise AssertionError("did not find fuser method for: {} ".format(kinds))  # noqa: UP032


def fuse_known_modules(
    mod_list: list[Any], is_qat: bool, additional_fuser_method_mapping: Any = None
) -> list[Any]:
    """Fuse a list of modules: return the fused module, and an identity for each of the others. Hooks are moved to the result.

    >>> import pellucid as torch
    >>> parts = [torch.nn.Linear(2, 2).eval(), torch.nn.ReLU().eval()]
    >>> [type(m).__name__ for m in torch.ao.quantization.fuse_known_modules(parts, is_qat=False)]
    ['LinearReLU', 'Identity']
    """
    function = get_fuser_method(tuple(map(type, mod_list)), additional_fuser_method_mapping)
    fused = function(is_qat, *mod_list)
    for key, hook in list(mod_list[0]._forward_pre_hooks.items()):
        fused.register_forward_pre_hook(hook)
        del mod_list[0]._forward_pre_hooks[key]
    for key, hook in list(mod_list[-1]._forward_hooks.items()):
        fused.register_forward_hook(hook)
        del mod_list[-1]._forward_hooks[key]
    made = [fused]
    for _ in mod_list[1:]:
        identity = nn.Identity()
        identity.training = mod_list[0].training
        made.append(identity)
    return made


def _fused(
    model: Any, modules_to_fuse: Any, is_qat: bool, inplace: bool, fuser_func: Any, custom: Any
) -> Any:
    if not inplace:
        model = copy.deepcopy(model)
    groups = (
        modules_to_fuse
        if all(isinstance(m, (list, tuple)) for m in modules_to_fuse)
        else [modules_to_fuse]
    )
    mapping = (custom or {}).get("additional_fuser_method_mapping", {})
    for names in groups:
        made = fuser_func([model.get_submodule(name) for name in names], is_qat, mapping)
        for name, module in zip(names, made, strict=True):
            parent, _, leaf = name.rpartition(".")
            setattr(model.get_submodule(parent), leaf, module)
    return model


def fuse_modules(
    model: Any,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:
    """Fuse modules by name, in a model that is not trained any more.

    Args:
        modules_to_fuse: a list of names, or a list of such lists. What follows the first module of
            a list becomes an identity.

    >>> import pellucid as torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).eval()
    >>> torch.ao.quantization.fuse_modules(model, ["0", "1"])[1]
    Identity()
    """
    return _fused(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: Any,
    modules_to_fuse: Any,
    inplace: bool = False,
    fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:
    """Fuse modules by name in a model that will be trained; otherwise as `fuse_modules`.

    >>> import pellucid as torch
    >>> model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8)).train()
    >>> type(torch.ao.quantization.fuse_modules_qat(model, ["0", "1"])[0]).__name__
    'ConvBn2d'
    """
    return _fused(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
