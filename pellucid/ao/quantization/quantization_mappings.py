"""Which module takes the place of which."""

from __future__ import annotations

import copy
from typing import Any

from ... import nn
from ..nn import intrinsic as nni
from ..nn import qat as nnqat
from ..nn import quantized as nnq
from ..nn.intrinsic import qat as nniqat
from ..nn.intrinsic import quantized as nniq
from ..nn.intrinsic.quantized import dynamic as nniqd
from ..nn.quantized import dynamic as nnqd
from .fake_quantize import (
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_neg1to1_fake_quant,
)
from .stubs import DeQuantStub, QuantStub

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS",
    "DEFAULT_MODULE_TO_ACT_POST_PROCESS",
    "DEFAULT_QAT_MODULE_MAPPINGS",
    "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS",
    "get_default_dynamic_quant_module_mappings",
    "get_default_qat_module_mappings",
    "get_default_qconfig_propagation_list",
    "get_default_static_quant_module_mappings",
    "get_dynamic_quant_module_class",
    "get_embedding_qat_module_mappings",
    "get_embedding_static_quant_module_mappings",
    "get_static_quant_module_class",
    "no_observer_set",
]

DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    QuantStub: nnq.Quantize,
    DeQuantStub: nnq.DeQuantize,
    nn.BatchNorm2d: nnq.BatchNorm2d,
    nn.BatchNorm3d: nnq.BatchNorm3d,
    nn.Dropout: nnq.Dropout,
    nn.Conv1d: nnq.Conv1d,
    nn.Conv2d: nnq.Conv2d,
    nn.Conv3d: nnq.Conv3d,
    nn.ConvTranspose1d: nnq.ConvTranspose1d,
    nn.ConvTranspose2d: nnq.ConvTranspose2d,
    nn.ConvTranspose3d: nnq.ConvTranspose3d,
    nn.ELU: nnq.ELU,
    nn.Embedding: nnq.Embedding,
    nn.EmbeddingBag: nnq.EmbeddingBag,
    nn.GroupNorm: nnq.GroupNorm,
    nn.Hardswish: nnq.Hardswish,
    nn.InstanceNorm1d: nnq.InstanceNorm1d,
    nn.InstanceNorm2d: nnq.InstanceNorm2d,
    nn.InstanceNorm3d: nnq.InstanceNorm3d,
    nn.LayerNorm: nnq.LayerNorm,
    nn.LeakyReLU: nnq.LeakyReLU,
    nn.modules.linear.NonDynamicallyQuantizableLinear: nnq.Linear,
    nn.Linear: nnq.Linear,
    nn.ReLU6: nnq.ReLU6,
    nnq.FloatFunctional: nnq.QFunctional,
    nni.BNReLU2d: nniq.BNReLU2d,
    nni.BNReLU3d: nniq.BNReLU3d,
    nni.ConvReLU1d: nniq.ConvReLU1d,
    nni.ConvReLU2d: nniq.ConvReLU2d,
    nni.ConvReLU3d: nniq.ConvReLU3d,
    nni.LinearReLU: nniq.LinearReLU,
    nniqat.ConvBn1d: nnq.Conv1d,
    nniqat.ConvBn2d: nnq.Conv2d,
    nniqat.ConvBn3d: nnq.Conv3d,
    nniqat.ConvBnReLU1d: nniq.ConvReLU1d,
    nniqat.ConvBnReLU2d: nniq.ConvReLU2d,
    nniqat.ConvBnReLU3d: nniq.ConvReLU3d,
    nniqat.ConvReLU1d: nniq.ConvReLU1d,
    nniqat.ConvReLU2d: nniq.ConvReLU2d,
    nniqat.ConvReLU3d: nniq.ConvReLU3d,
    nniqat.LinearReLU: nniq.LinearReLU,
    nnqat.Linear: nnq.Linear,
    nnqat.Conv1d: nnq.Conv1d,
    nnqat.Conv2d: nnq.Conv2d,
    nnqat.Conv3d: nnq.Conv3d,
    nnqat.Embedding: nnq.Embedding,
    nnqat.EmbeddingBag: nnq.EmbeddingBag,
    nn.Sigmoid: nnq.Sigmoid,
    nn.Softmax: nnq.Softmax,
}

DEFAULT_QAT_MODULE_MAPPINGS: dict[Any, Any] = {
    nn.Conv1d: nnqat.Conv1d,
    nn.Conv2d: nnqat.Conv2d,
    nn.Conv3d: nnqat.Conv3d,
    nn.Linear: nnqat.Linear,
    nn.modules.linear.NonDynamicallyQuantizableLinear: nnqat.Linear,
    nni.ConvBn1d: nniqat.ConvBn1d,
    nni.ConvBn2d: nniqat.ConvBn2d,
    nni.ConvBn3d: nniqat.ConvBn3d,
    nni.ConvBnReLU1d: nniqat.ConvBnReLU1d,
    nni.ConvBnReLU2d: nniqat.ConvBnReLU2d,
    nni.ConvBnReLU3d: nniqat.ConvBnReLU3d,
    nni.ConvReLU1d: nniqat.ConvReLU1d,
    nni.ConvReLU2d: nniqat.ConvReLU2d,
    nni.ConvReLU3d: nniqat.ConvReLU3d,
    nni.LinearReLU: nniqat.LinearReLU,
}

DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    nn.GRUCell: nnqd.GRUCell,
    nn.Linear: nnqd.Linear,
    nnqat.Linear: nnqd.Linear,
    nn.LSTM: nnqd.LSTM,
    nn.GRU: nnqd.GRU,
    nn.LSTMCell: nnqd.LSTMCell,
    nn.RNNCell: nnqd.RNNCell,
    nni.LinearReLU: nniqd.LinearReLU,
    nn.EmbeddingBag: nnq.EmbeddingBag,
    nn.Embedding: nnq.Embedding,
}

_INCLUDE_QCONFIG_PROPAGATE_LIST: set[Any] = {nn.Sequential}

DEFAULT_MODULE_TO_ACT_POST_PROCESS: dict[Any, Any] = {
    nn.Hardsigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Sigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Softmax: default_fixed_qparams_range_0to1_fake_quant,
    nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant,
}


def no_observer_set() -> set[Any]:
    """Return the module classes whose results are not observed: none.

    >>> from pellucid.ao import quantization as q
    >>> q.no_observer_set()
    set()
    """
    return set()


def get_default_static_quant_module_mappings() -> dict[Any, Any]:
    """Return which class replaces which in static quantization (`convert`).

    >>> import pellucid as torch
    >>> mapping = torch.ao.quantization.get_default_static_quant_module_mappings()
    >>> mapping[torch.nn.Conv2d]
    <class 'pellucid.ao.nn.quantized.modules.conv.Conv2d'>
    """
    return copy.copy(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_dynamic_quant_module_mappings() -> dict[Any, Any]:
    """Return which class replaces which in dynamic quantization (`quantize_dynamic`).

    >>> import pellucid as torch
    >>> mapping = torch.ao.quantization.get_default_dynamic_quant_module_mappings()
    >>> mapping[torch.nn.LSTM]
    <class 'pellucid.ao.nn.quantized.dynamic.modules.rnn.LSTM'>
    """
    return copy.copy(DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """Return which class replaces which in quantization-aware training (`prepare_qat`).

    >>> import pellucid as torch
    >>> mapping = torch.ao.quantization.get_default_qat_module_mappings()
    >>> mapping[torch.nn.Linear]
    <class 'pellucid.ao.nn.qat.modules.linear.Linear'>
    """
    return copy.copy(DEFAULT_QAT_MODULE_MAPPINGS)


def get_embedding_static_quant_module_mappings() -> dict[Any, Any]:
    """Return `get_default_static_quant_module_mappings()` with embeddings for training added.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> mapping = q.get_embedding_static_quant_module_mappings()
    >>> torch.ao.nn.qat.Embedding in mapping
    True
    """
    return copy.copy(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_embedding_qat_module_mappings() -> dict[Any, Any]:
    """Return `get_default_qat_module_mappings()` with embeddings added.

    >>> import pellucid as torch
    >>> mapping = torch.ao.quantization.get_embedding_qat_module_mappings()
    >>> mapping[torch.nn.Embedding]
    <class 'pellucid.ao.nn.qat.modules.embedding_ops.Embedding'>
    """
    return {
        **DEFAULT_QAT_MODULE_MAPPINGS,
        nn.Embedding: nnqat.Embedding,
        nn.EmbeddingBag: nnqat.EmbeddingBag,
    }


def get_default_qconfig_propagation_list() -> set[Any]:
    """Return the module classes that inherit the configuration of their parent.

    >>> import pellucid as torch
    >>> from pellucid.ao import quantization as q
    >>> torch.nn.Linear in q.get_default_qconfig_propagation_list()
    True
    """
    return {
        *DEFAULT_STATIC_QUANT_MODULE_MAPPINGS,
        *DEFAULT_QAT_MODULE_MAPPINGS,
        *DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
        *_INCLUDE_QCONFIG_PROPAGATE_LIST,
    }


def get_static_quant_module_class(
    float_module_class: Any, additional_static_quant_mapping: Any = None, is_reference: bool = False
) -> Any:
    """Return the class that replaces a module class in static quantization.

    >>> import pellucid as torch
    >>> torch.ao.quantization.get_static_quant_module_class(torch.nn.Linear).__name__
    'Linear'
    """
    if is_reference:
        raise NotImplementedError("reference modules are not supported")
    mapping = {**DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, **(additional_static_quant_mapping or {})}
    if float_module_class not in mapping:
        raise AssertionError(
            f"Floating point module class {float_module_class} does not have a corresponding quantized module class"
        )
    return copy.deepcopy(mapping[float_module_class])


def get_dynamic_quant_module_class(
    float_module_class: Any, additional_dynamic_quant_mapping: Any = None
) -> Any:
    """Return the class that replaces a module class in dynamic quantization.

    >>> import pellucid as torch
    >>> torch.ao.quantization.get_dynamic_quant_module_class(torch.nn.GRU)
    <class 'pellucid.ao.nn.quantized.dynamic.modules.rnn.GRU'>
    """
    mapping = {**DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, **(additional_dynamic_quant_mapping or {})}
    if float_module_class not in mapping:
        raise AssertionError(
            f"Floating point module class {float_module_class} does not have a corresponding quantized module class"
        )
    return copy.deepcopy(mapping[float_module_class])
