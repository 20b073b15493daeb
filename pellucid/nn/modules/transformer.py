"""The Transformer: layers of attention and feed-forward networks, stacked as encoder and decoder."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

from ...core.tensor import Tensor
from ...errors import OperationError, warn
from .. import functional as F
from .._attention import _none_or_dtype, canonical_mask
from .._functions import T
from ..init import xavier_uniform_
from .activation import GELU, ReLU
from .attention import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]


def _same(function: Any, public: Any) -> bool:
    """Whether a function is a public one, which is wrapped anew once tensor types of the user's ask
    for it.
    """
    return function is public or inspect.unwrap(function) is inspect.unwrap(public)


def _activation(name: Activation) -> Any:
    if not isinstance(name, str):
        return name
    if name not in ("relu", "gelu"):
        raise OperationError(f"activation should be relu/gelu, not {name}")
    return getattr(F, name)


def causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """(size, size) with minus infinity above the diagonal and zeros elsewhere."""
    return T.triu(T.full((size, size), float("-inf"), device=device, dtype=dtype), diagonal=1)


def _is_causal(mask: Any, hint: bool | None, size: int | None) -> bool:
    """The hint, or whether the mask is the causal one."""
    if hint is not None or mask is None:
        return hint is True
    expected = causal_mask(size if size is not None else mask.shape[-2], mask.device, mask.dtype)
    return mask.shape == expected.shape and bool((mask == expected).all())


def _sequence_length(x: Tensor, batch_first: bool) -> int | None:
    if x.ndim == 2:
        return x.shape[0]
    return x.shape[1 if batch_first else 0] if x.ndim == 3 else None


# Libraries take these from here by PyTorch's names.
_detect_is_causal_mask, _get_seq_len = _is_causal, _sequence_length


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    """The function of a name, "relu" or "gelu"."""
    if activation not in ("relu", "gelu"):
        raise OperationError(f"activation should be relu/gelu, not {activation}")
    return _activation(activation)


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    return causal_mask(sz, device, dtype)


class _Layer(Module):
    """What layers of encoder and decoder share."""

    def _common(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float,
        eps: float,
        batch_first: bool,
        norm_first: bool,
        bias: bool,
        attentions: tuple[str, ...],
        norms: int,
        device: Any,
        dtype: Any,
    ) -> None:
        kwargs: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        for name in attentions:
            setattr(
                self,
                name,
                MultiheadAttention(
                    d_model, nhead, dropout=dropout, batch_first=batch_first, **kwargs
                ),
            )
        self.linear1 = Linear(d_model, dim_feedforward, **kwargs)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **kwargs)
        self.norm_first = norm_first
        for k in range(1, norms + 1):
            setattr(self, f"norm{k}", LayerNorm(d_model, eps=eps, **kwargs))
        for k in range(1, norms + 1):
            setattr(self, f"dropout{k}", Dropout(dropout))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("activation", F.relu)

    def _attend(
        self, module: Any, x: Tensor, memory: Tensor, mask: Any, padding: Any, causal: bool
    ) -> Tensor:
        return module(
            x,
            memory,
            memory,
            attn_mask=mask,
            key_padding_mask=padding,
            need_weights=False,
            is_causal=causal,
        )[0]

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with a residual connection and layer
    normalization.

        x = norm1(x + attention(x))                with norm_first: x + attention(norm1(x))
        x = norm2(x + linear2(activation(linear1(x))))              x + ...(norm2(x))

    Dropout follows the attention, the activation and the second linear layer.

    Args:
        d_model: width of the sequences, E.
        nhead: number of attention heads; a divisor of `d_model`.
        dim_feedforward: width of the hidden layer of the feed-forward network. Default: 2048.
        dropout: probability of dropout, while training. Default: 0.1.
        activation: of the feed-forward network: "relu", "gelu" or a function. Default: relu.
        layer_norm_eps: eps of the layer normalizations. Default: 1e-5.
        batch_first: whether sequences are (B, T, E) instead of (T, B, E). Default: False.
        norm_first: whether to normalize the input of each part instead of the sum after it.
            Default: False.
        bias: whether linear layers and normalizations have biases. Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Call it as `layer(src, src_mask, src_key_padding_mask, is_causal)`.

    Shape:
        src: `(T, B, E)`, with `batch_first` `(B, T, E)`, or `(T, E)` without a batch.
        src_mask: `(T, T)` or `(B * nhead, T, T)`; True forbids attention, a float mask is added to
            the scores.
        src_key_padding_mask: `(B, T)`; True where an element is padding.
        result: in the shape of `src`.

    Raises:
        RuntimeError: an unknown name of an activation.
        AssertionError: `nhead` does not divide `d_model`.

    Source: Vaswani et al., "Attention is all you need", 2017; Xiong et al., "On layer normalization
    in the transformer architecture", 2020 (norm_first).

    Example:
        >>> import pellucid as torch
        >>> layer = torch.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
        >>> layer(torch.zeros(3, 5, 8)).shape
        torch.Size([3, 5, 8])
    """

    self_attn: MultiheadAttention
    norm1: LayerNorm
    norm2: LayerNorm
    dropout1: Dropout
    dropout2: Dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._common(
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            ("self_attn",),
            2,
            device,
            dtype,
        )
        self.activation = _activation(activation)
        relu = _same(self.activation, F.relu) or isinstance(self.activation, ReLU)
        gelu = _same(self.activation, F.gelu) or isinstance(self.activation, GELU)
        self.activation_relu_or_gelu = 1 if relu else 2 if gelu else 0

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """`src` after the layer; masks as in MultiheadAttention."""
        padding = canonical_mask(
            src_key_padding_mask,
            "src_key_padding_mask",
            _none_or_dtype(src_mask),
            "src_mask",
            src.dtype,
        )
        mask = canonical_mask(src_mask, "src_mask", None, "", src.dtype)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), mask, padding, is_causal=is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, mask, padding, is_causal=is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(
        self, x: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        return self.dropout1(
            self._attend(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal)
        )

    def _ff_block(self, x: Tensor) -> Any:
        return self.dropout2(self._feed_forward(x))


class TransformerDecoderLayer(_Layer):
    """Self-attention, cross-attention to the encoder's output, and a feed-forward network.

    Each of the three parts has a residual connection and layer normalization:

        x = norm1(x + self_attention(x))
        x = norm2(x + cross_attention(x, memory))
        x = norm3(x + linear2(activation(linear1(x))))

    With `norm_first`, each part is `x + part(norm(x))` instead.

    Args:
        d_model: width of the sequences, E.
        nhead: number of attention heads; a divisor of `d_model`.
        dim_feedforward: width of the hidden layer of the feed-forward network. Default: 2048.
        dropout: probability of dropout, while training. Default: 0.1.
        activation: of the feed-forward network: "relu", "gelu" or a function. Default: relu.
        layer_norm_eps: eps of the layer normalizations. Default: 1e-5.
        batch_first: whether sequences are (B, T, E) instead of (T, B, E). Default: False.
        norm_first: whether to normalize the input of each part instead of the sum after it.
            Default: False.
        bias: whether linear layers and normalizations have biases. Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Call it as `layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
    memory_key_padding_mask, tgt_is_causal, memory_is_causal)`.

    Shape:
        tgt: `(T, B, E)`, with `batch_first` `(B, T, E)`, or `(T, E)` without a batch.
        memory: the encoder's output, `(S, B, E)` or in the same layout as `tgt`.
        tgt_mask: `(T, T)`, usually the causal mask; True forbids attention, a float mask is added
            to the scores.
        memory_mask: `(T, S)`, in the same way.
        tgt_key_padding_mask, memory_key_padding_mask: `(B, T)` and `(B, S)`; True where an element
            is padding.
        result: in the shape of `tgt`.

    Raises:
        RuntimeError: an unknown name of an activation.
        AssertionError: `nhead` does not divide `d_model`.

    Source: Vaswani et al., "Attention is all you need", 2017; Xiong et al., "On layer normalization
    in the transformer architecture", 2020 (norm_first).

    Example:
        >>> import pellucid as torch
        >>> layer = torch.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> mask = torch.nn.Transformer.generate_square_subsequent_mask(4)
        >>> layer(torch.zeros(4, 3, 8), torch.zeros(5, 3, 8), tgt_mask=mask).shape
        torch.Size([4, 3, 8])
    """

    self_attn: MultiheadAttention
    multihead_attn: MultiheadAttention
    norm1: LayerNorm
    norm2: LayerNorm
    norm3: LayerNorm
    dropout1: Dropout
    dropout2: Dropout
    dropout3: Dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self._common(
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            ("self_attn", "multihead_attn"),
            3,
            device,
            dtype,
        )
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """`tgt` after the layer; masks as in MultiheadAttention."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        cross = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *cross)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *cross))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(
        self, x: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        return self.dropout1(
            self._attend(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal)
        )

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        return self.dropout2(
            self._attend(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal)
        )

    def _ff_block(self, x: Tensor) -> Any:
        return self.dropout3(self._feed_forward(x))


def _clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _get_clones(module: Module, N: int) -> ModuleList:
    return _clones(module, N)


class TransformerEncoder(Module):
    """A stack of encoder layers, with an optional final normalization.

    The layers begin as copies of the one that is given, with equal initial values; they are trained
    separately.

    Args:
        encoder_layer: a TransformerEncoderLayer, or a module with the same `forward`.
        num_layers: number of copies.
        norm: a module for the result of the last layer, or None.
        enable_nested_tensor: accepted; padding is always handled by masks. A warning says where
            PyTorch would not use nested tensors.
        mask_check: accepted.

    Call it as `encoder(src, mask, src_key_padding_mask, is_causal)`; with `is_causal=None` the
    encoder looks whether the mask is causal.

    Shape:
        src: `(T, B, E)`, with the layer's `batch_first` `(B, T, E)`, or `(T, E)` without a batch.
        mask: `(T, T)` or `(B * nhead, T, T)`; True forbids attention, a float mask is added to the
            scores.
        src_key_padding_mask: `(B, T)`; True where an element is padding.
        result: in the shape of `src`.

    Example:
        >>> import pellucid as torch
        >>> layer = torch.nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, batch_first=True)
        >>> torch.nn.TransformerEncoder(layer, num_layers=2)(torch.zeros(3, 5, 8)).shape
        torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = _why_no_nested(encoder_layer)
        if enable_nested_tensor and reason:
            warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}",
            )
            self.use_nested_tensor = False

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """`src` after all layers."""
        padding = canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", _none_or_dtype(mask), "mask", src.dtype
        )
        mask = canonical_mask(mask, "mask", None, "", src.dtype)
        attention = getattr(self.layers[0], "self_attn", None)
        size = _sequence_length(src, getattr(attention, "batch_first", False))
        causal = _is_causal(mask, is_causal, size)
        out = src
        for layer in self.layers:
            out = layer(out, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        return out if self.norm is None else self.norm(out)


def _why_no_nested(layer: Any) -> str:
    """Why PyTorch would not use nested tensors for this layer, in its words; "" when it would."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    for broken, reason in (
        (layer.norm_first, "norm_first was True"),
        (
            not attention.batch_first,
            "self_attn.batch_first was not True(use batch_first for better inference performance)",
        ),
        (not attention._qkv_same_embed_dim, "self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, "self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, "activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, "norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2 == 1, "self_attn.num_heads is odd"),
    ):
        if broken:
            return f"encoder_layer.{reason}"
    return ""


class TransformerDecoder(Module):
    """A stack of decoder layers, with an optional final normalization.

    The layers begin as copies of the one that is given, with equal initial values; they are trained
    separately. All attend to the same `memory`.

    Args:
        decoder_layer: a TransformerDecoderLayer, or a module with the same `forward`.
        num_layers: number of copies.
        norm: a module for the result of the last layer, or None.

    Call it as `decoder(tgt, memory, ...)` with the masks of TransformerDecoderLayer; with
    `tgt_is_causal=None` the decoder looks whether `tgt_mask` is causal.

    Shape:
        tgt: `(T, B, E)`, with the layer's `batch_first` `(B, T, E)`, or `(T, E)` without a batch.
        memory: the encoder's output, `(S, B, E)` or in the same layout as `tgt`.
        result: in the shape of `tgt`.

    Example:
        >>> import pellucid as torch
        >>> layer = torch.nn.TransformerDecoderLayer(d_model=8, nhead=2, dim_feedforward=16)
        >>> torch.nn.TransformerDecoder(layer, num_layers=2)(torch.zeros(4, 3, 8), torch.zeros(5, 3, 8)).shape
        torch.Size([4, 3, 8])
    """

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """`tgt` after all layers, which attend to `memory`."""
        attention = getattr(self.layers[0], "self_attn", None)
        causal = _is_causal(
            tgt_mask, tgt_is_causal, _sequence_length(tgt, getattr(attention, "batch_first", False))
        )
        out = tgt
        for layer in self.layers:
            out = layer(
                out,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return out if self.norm is None else self.norm(out)


class Transformer(Module):
    """A Transformer: an encoder, and a decoder that attends to its output.

    It contains neither embeddings nor positions nor the last projection to a vocabulary. Matrices
    are initialized by `xavier_uniform_`.

    Args:
        d_model: width of the sequences, E. Default: 512.
        nhead: number of attention heads; a divisor of `d_model`. Default: 8.
        num_encoder_layers, num_decoder_layers: numbers of layers. Default: 6.
        dim_feedforward: width of the hidden layer of the feed-forward networks. Default: 2048.
        dropout: probability of dropout, while training. Default: 0.1.
        activation: of the feed-forward networks: "relu", "gelu" or a function. Default: relu.
        custom_encoder, custom_decoder: modules to use as encoder or decoder. Default: None.
        layer_norm_eps: eps of the layer normalizations. Default: 1e-5.
        batch_first: whether sequences are (B, T, E) instead of (T, B, E). Default: False.
        norm_first: whether to normalize the input of each part instead of the sum after it.
            Default: False.
        bias: whether linear layers and normalizations have biases. Default: True.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Call it as `transformer(src, tgt, ...)` with the masks as keywords: `src_mask`, `tgt_mask`,
    `memory_mask`, the three `..._key_padding_mask`, and the hints `..._is_causal`. True forbids
    attention, a float mask is added to the scores.

    Shape:
        src: `(S, B, E)`, with `batch_first` `(B, S, E)`, or `(S, E)` without a batch.
        tgt: `(T, B, E)`, in the same layout.
        src_mask, tgt_mask, memory_mask: `(S, S)`, `(T, T)` and `(T, S)`.
        src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask: `(B, S)`, `(B, T)` and
            `(B, S)`; True where padding is.
        result: in the shape of `tgt`.

    Raises:
        RuntimeError: `src` and `tgt` differ in their batch sizes, or their width is not `d_model`.

    Source: Vaswani et al., "Attention is all you need", 2017.

    Example:
        >>> import pellucid as torch
        >>> net = torch.nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, batch_first=True)
        >>> net(torch.zeros(3, 5, 8), torch.zeros(3, 4, 8), tgt_mask=net.generate_square_subsequent_mask(4)).shape
        torch.Size([3, 4, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        args = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
        )
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer: Any = TransformerEncoderLayer(*args, **kwargs)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kwargs)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*args, **kwargs)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kwargs)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm)
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.ndim > 1:
                xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoder's result for `tgt`, which attends to the encoder's result for `src`."""
        batch = 0 if self.batch_first else 1
        if src.size(batch) != tgt.size(batch) and src.ndim == 3:
            raise OperationError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise OperationError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The causal mask: (sz, sz) with minus infinity above the diagonal."""
        return causal_mask(sz, device, dtype)
