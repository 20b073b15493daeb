"""Multi-head attention as a layer."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...errors import ArgumentValueError, hinted
from .. import functional as F
from .._functions import T
from ..init import constant_, xavier_normal_, xavier_uniform_
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """Multi-head attention: each query takes a weighted mean of the values, in several heads side
    by side.

    Queries, keys and values are projected and split into heads of d = embed_dim / num_heads
    features. Each head computes

        weights = softmax(q k^T / sqrt(d) + mask)
        head    = dropout(weights) v

    and a last projection maps the concatenated heads to the result.

    Args:
        embed_dim: width of queries and results, E.
        num_heads: number of heads; a divisor of `embed_dim`.
        dropout: probability of dropout on the attention weights, while training. Default: 0.
        bias: whether the projections have biases. Default: True.
        add_bias_kv: whether to append a learned key and value to those given. Default: False.
        add_zero_attn: whether to append a key and value of zeros. Default: False.
        kdim, vdim: widths of keys and values; None: `embed_dim`.
        batch_first: whether inputs and results are (B, L, E) instead of (L, B, E). Default: False.
        device, dtype: where the parameters are created and their element type; None: the default
            device and dtype.

    Call it as `out, weights = attention(query, key, value, key_padding_mask, need_weights,
    attn_mask, average_attn_weights, is_causal)`.

    Shape:
        query: `(L, B, E)`, with `batch_first` `(B, L, E)`, or `(L, E)` without a batch.
        key, value: `(S, B, kdim)` and `(S, B, vdim)`, in the same layout.
        key_padding_mask: `(B, S)` or `(S,)`, True where a key is padding and gets no weight; a
            float mask is added to the scores.
        attn_mask: `(L, S)` or `(B * num_heads, L, S)`, True where attention is forbidden; a float
            mask is added to the scores.
        out: in the shape of the query.
        weights: `(B, L, S)`, the mean over the heads; `(B, num_heads, L, S)` with
            average_attn_weights=False; None with need_weights=False, which is faster.

    `is_causal=True` is a hint that `attn_mask` is the causal mask, which must be given all the
    same. With `need_weights`, a query whose keys are all masked gives NaN.

    Attributes:
        in_proj_weight: `(3 * E, E)`, the projections of queries, keys and values below each other,
            initialized by `xavier_uniform_`; None where `kdim` or `vdim` differ from E. Then there
            are q_proj_weight, k_proj_weight and v_proj_weight.
        in_proj_bias: `(3 * E,)`, initially 0.
        out_proj: the Linear of the result, its bias initially 0.

    Raises:
        ValueError: `embed_dim` or `num_heads` is not positive.
        AssertionError: `num_heads` does not divide `embed_dim`; inputs or masks of wrong shapes.
        RuntimeError: an `attn_mask` of the wrong size; `is_causal` without a mask.

    Source: Vaswani et al., "Attention is all you need", 2017.

    Example:
        >>> import pellucid as torch
        >>> x = torch.zeros(5, 2, 8)
        >>> out, weights = torch.nn.MultiheadAttention(8, 4)(x, x, x)
        >>> out.shape, weights.shape
        (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))
    """

    bias_k: Any
    bias_v: Any
    in_proj_weight: Any
    in_proj_bias: Any
    q_proj_weight: Any
    k_proj_weight: Any
    v_proj_weight: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ArgumentValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise hinted(
                AssertionError("embed_dim must be divisible by num_heads"),
                f"each head gets embed_dim / num_heads features, and {embed_dim} / {num_heads} is not a whole number: "
                f"embed_dim={self.head_dim * num_heads + num_heads} would fit {num_heads} heads",
            )

        def new(*shape: int) -> Parameter:
            return Parameter(T.empty(shape, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = new(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = new(embed_dim, embed_dim)
            self.k_proj_weight = new(embed_dim, self.kdim)
            self.v_proj_weight = new(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = new(3 * embed_dim)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        if add_bias_kv:
            self.bias_k = new(1, 1, embed_dim)
            self.bias_v = new(1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            constant_(self.in_proj_bias, 0.0)
            constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The attended values and the attention weights (None without `need_weights`); see
        `F.multi_head_attention_forward`.
        """
        swap = self.batch_first and query.ndim == 3
        if swap:
            same_kv, same_qk = key is value, query is key
            query = query.transpose(1, 0)
            key = query if same_qk else key.transpose(1, 0)
            value = key if same_kv else value.transpose(1, 0)
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(1, 0) if swap else out), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one, (B, heads, L, S), and its kind: 0 attention, 1 padding, 2 both."""
        if attn_mask is None:
            return key_padding_mask, (None if key_padding_mask is None else 1)
        batch, length = query.shape[:2]
        if attn_mask.ndim == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            padding = key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
            merged = merged + padding
        return merged, 2
