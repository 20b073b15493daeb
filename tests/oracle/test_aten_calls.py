"""Operators of aten that have no public function: their results, and gradients, beside PyTorch's.

An operator that PyTorch computes on a CPU and Pellucid does not is in `aten_left.json`, under the
reason.
"""

import json
from pathlib import Path

import pytest

import pellucid
from pellucid.aten import schema

torch = pytest.importorskip("torch")

# expressions of A (the operators of aten), m (the library), and arguments from `arguments`
CALLS = """
    A._cast_Float(x) | A._cast_Long(x) | A._cast_Half(x) | A.is_leaf(x) | A.output_nr(x) |
    A.retains_grad(x) | A.data(x) | A.can_cast(m.float32, m.int32) |
     A._has_same_storage_numel(x, y) | A._shape_as_tensor(x) |
    A._dim_arange(x, 1) | A._is_all_true(x > 0) | A._is_any_true(x > 0) | A._conj(z) |
    A._conj_physical(z) | A._neg_view(x) | A._fw_primal(x, 0) | A.matrix_H(x) | A._lazy_clone(x) |
    A._reshape_copy(x, [2, 8]) | A._reshape_from_tensor(x, m.tensor([2, 8])) | A._stack([x, y], 1) |
    A._chunk_cat([x, y], 0, 3) | A.flatten_dense_tensors([x, v]) |
    A.unflatten_dense_tensors(A.flatten_dense_tensors([x, v]), [x, v]) | A.nonzero_numpy(x > 0) |
    A._pad_enum(im, [1, 1, 1, 1], 1) | A._pad_circular(im, [1, 1, 1, 1]) |
    A.pad_sequence([x, y[:2]], True, 2.0) | A.pad_sequence([x, y[:2]], False, 2.0, "left") |
    A._pack_padded_sequence(im[0], m.tensor([6, 4]), True) |
    A._pad_packed_sequence(x, m.tensor([2, 1, 1]), True, 0.5, 4) | A._unsafe_index(x, [i, None]) |
    A._unsafe_index_put(x, [i], v, True) | A._index_put_impl(x, [i], v) |
    A._unsafe_masked_index(x, m.tensor([True, False, True])[:, None], [i], 7) |
    A._unsafe_masked_index_put_accumulate(x, m.tensor([True, False, True])[:, None], [i], y[:3]) |
    A.index_select_backward(y[:3], [4, 4], 0, i) |
    A.masked_select_backward(v, x, m.arange(16).view(4, 4) % 4 == 0) |
    A.masked_scatter_backward(x, m.arange(16).view(4, 4) % 4 == 0, [4]) |
    A.cummaxmin_backward(x, y, m.zeros(4, 4, dtype=m.int64), 1) |
    A.cumprod_backward(x, y, 1, y.cumprod(1)) | A._unique(i) | A._unique2(i, True, True, True) |
    A.unique_dim(m.tensor([[1, 2], [1, 2], [0, 1]]), 0, True, True, True) |
    A.unique_dim_consecutive(m.tensor([[1, 2], [1, 2], [0, 1]]), 0, True, True) |
    A.matrix_exp_backward(x, y) | A.infinitely_differentiable_gelu_backward(x, y) |
    A.affine_grid_generator_backward(grid, [1, 1, 3, 3], False) | A._cdist_forward(x, y, 2.0, None) |
    A._cdist_backward(x, x, y, 3.0, m.cdist(x, y, 3.0)) | A._euclidean_dist(x, y) |
    A._pdist_forward(x, 3.0) | A._pdist_backward(w6, x, 3.0, m.pdist(x, 3.0)) |
    A._prelu_kernel(x, v) | A._prelu_kernel_backward(x, y, v) |
    A._masked_softmax_backward(x, y.softmax(1), m.arange(16).view(4, 4) % 4 == 0, 1) |
    A.glu_jvp(m.nn.functional.glu(x, 1), x, y, 1) | A.glu_backward_jvp(A.glu_backward(x[:, :2], y, 1), x[:, :2], y, y[:, :2], x, 1) |
    A.rrelu_with_noise_backward(x, y, y, 0.1, 0.3, True, False) |
    A.rrelu_with_noise_backward(x, y, y, 0.1, 0.3, False, False) |
    A.multilabel_margin_loss_forward(x, m.tensor([[1, 2, -1, 0]] * 4), 1) |
    A._addmm_activation(v, x, y) | A._addmm_activation(v, x, y, use_gelu=True) |
    A._int_mm(m.ones(3, 4, dtype=m.int8), m.ones(4, 5, dtype=m.int8)) | A._foreach_mm([x], [y]) |
    A.linalg__powsum(x, 3, [1]) | A._foreach_powsum([x], 2) |
    A._compute_linear_combination(im, m.arange(6.0, dtype=m.float64).view(3, 2)[:, :1]) |
    A._cholesky_solve_helper(x, pd, False) | A._lu_with_info(pd)[1:] | A._linalg_det(pd)[0] |
    A._linalg_slogdet(pd)[:2] | A._linalg_solve_ex(pd, y)[0] | A._linalg_eigh(pd)[0] |
    A._linalg_svd(pd)[1] | A._logcumsumexp(x, 0) | A._aminmax(x) | A._aminmax(x, 1, True) |
    A._safe_softmax(m.where(x > 0, x, m.full((), -float("inf"), dtype=x.dtype)), 1) |
    A._fft_c2c(z, [0, 1], 1, True) | A._fft_r2c(x, [1], 2, True) | A._fft_c2r(z, [1], 0, 6) |
    A.slow_conv_dilated2d(im, w, [3, 3], None, [1, 1], [1, 1], [2, 2]) | A.thnn_conv2d(im, w, [3, 3]) |
    A._slow_conv2d_forward(im, w, [3, 3], None, [1, 1], [0, 0]) |
    A.slow_conv_transpose2d(im, w.transpose(0, 1).contiguous(), [3, 3]) |
    A._native_batch_norm_legit_no_training(im, v2, v2, v2.detach() * 0, v2.detach() * 0 + 1, 0.1, 1e-5)[0] |
    A._batch_norm_with_update(im, v2, v2, m.zeros(2, dtype=m.float64), m.ones(2, dtype=m.float64), 0.1, 1e-5)[:3] |
    A._batch_norm_no_update(im, v2, v2, m.zeros(2, dtype=m.float64), m.ones(2, dtype=m.float64), 0.1, 1e-5)[0] |
    A._native_batch_norm_legit(im, v2, v2, m.zeros(2, dtype=m.float64), m.ones(2, dtype=m.float64), True, 0.1, 1e-5) |
    A._native_batch_norm_legit_functional(im, v2, v2, m.zeros(2, dtype=m.float64), m.ones(2, dtype=m.float64), True, 0.1, 1e-5) |
    A._batch_norm_impl_index(im, v2, v2, None, None, True, 0.1, 1e-5, False)[0] |
    A.batch_norm_update_stats(im, m.zeros(2, dtype=m.float64), m.ones(2, dtype=m.float64), 0.1) |
    A._weight_norm_interface(x, v[:, None], 0) |
    A._weight_norm_interface_backward(x, y, v[:, None], y.norm(2, 1, keepdim=True), 0) |
    A._functional_assert_async.msg(m.ones(()), "no", m.zeros(1)) | A._ctc_loss(x[:, None].log_softmax(2), m.tensor([[1, 2]]), [4], [2])[0] | A._sparse_sum(x.to_sparse()) |
    A.embedding_backward(x[:3], i, 5, -1, False, False) | A._sparse_coo_tensor_unsafe(m.tensor([[0, 1]]), v[:2], [4]) |
    A._convert_indices_from_coo_to_csr(m.tensor([0, 0, 2]), 4) |
    A._convert_indices_from_csr_to_coo(m.tensor([0, 2, 2, 3]), i) |
    A._histogramdd_bin_edges(x[:, :2], [2, 3]) | A._histogramdd_from_bin_cts(x[:, :2], [2, 3]) |
    A._sparse_mm(x.to_sparse(), y) | A._to_sparse_csr(x) | A._to_sparse(x) |
    A.sparse_coo_tensor.indices(m.tensor([[0, 1]]), v[:2]) | A.native_dropout_backward(x, y > 0, 2.0) |
    A._upsample_bilinear2d_aa(im, [3, 4], False) | A.slice(x, 0, 1, 3) |
    A.slice_copy(x, 0, 1, 3) | A.unbind_copy(x) | A.t_copy(x) | A.view_copy(x, [2, 8]) | A._neg_view_copy(x) |
    A._upsample_bilinear2d_aa_backward(im, [6, 6], [1, 2, 4, 5], False) |
    A.upsample_nearest2d_backward(im, [6, 6], [1, 2, 3, 3]) |
    A._upsample_nearest_exact2d_backward(im, [6, 6], [1, 2, 3, 3]) |
    A.upsample_bicubic2d_backward(im, [6, 6], [1, 2, 3, 3], False) |
    A.upsample_bilinear2d_backward(im, [6, 6], [1, 2, 4, 4], True) |
    A.upsample_linear1d_backward(im[0], [6], [2, 6, 4], False) |
    A.upsample_nearest1d_backward(im[0], [6], [2, 6, 4]) |
    A.upsample_trilinear3d_backward(im[None], [2, 6, 6], [1, 1, 2, 3, 3], False) |
    A.reflection_pad1d_backward(im[0], im[0][:, :, :4].contiguous(), [1, 1]) |
    A.reflection_pad2d_backward(im, im[:, :, :4, :4].contiguous(), [1, 1, 1, 1]) |
    A.replication_pad2d_backward(im, im[:, :, :4, :4].contiguous(), [1, 1, 1, 1]) |
    A.replication_pad1d_backward(im[0], im[0][:, :, :4].contiguous(), [1, 1]) |
    A.hardshrink_backward(x, y, 0.1) | A.softshrink_backward(x, y, 0.1) | A.logit_backward(x, y.sigmoid(), None) |
    A.soft_margin_loss_backward(x, x, y.sign(), 0) |
    A.multi_margin_loss_backward(m.ones((), dtype=m.float64), x, m.tensor([0, 1, 2, 3]), 1, 1) |
    A.adaptive_max_pool2d_backward(*(lambda o: (o[0], im, o[1]))(m.nn.functional.adaptive_max_pool2d(im, 3, True))) |
    A._adaptive_avg_pool3d_backward(im[None][:, :, :, :3, :3], im[None]) |
    A.avg_pool3d_backward(im[None][:, :, :1, :3, :3], im[None], [2, 2, 2], [2, 2, 2], [0, 0, 0], False, True, None) |
    A.grid_sampler_2d_backward(im[:, :, :3, :3], im, grid, 0, 0, False, [True, True]) |
    A.trace_backward(v[0], [4, 4]) | A.gather_backward(x, y, 1, m.zeros(4, 4, dtype=m.int64), False) |
    A.max_pool2d_with_indices_backward(im[:, :, :3, :3], im, [2, 2], [2, 2], [0, 0], [1, 1], False, m.nn.functional.max_pool2d(im, 2, return_indices=True)[1]) |
    A._softmax_backward_data(x, y.softmax(1), 1, m.float64) |
    A._coalesce(sp) | A._coalesce.out(sp, out=sp * 2) | A._sparse_addmm(x, s2, y) |
    A._sparse_coo_tensor_with_dims(1, 0, [4], layout=m.sparse_coo, dtype=m.float64) |
    A._sparse_coo_tensor_with_dims.out(1, 0, [4], out=sp * 1) | A.sparse_coo_tensor.size_out([4], out=sp * 1) |
    A._sparse_coo_tensor_with_dims_and_tensors(1, 0, [4], m.tensor([[0, 1]]), v[:2], layout=m.sparse_coo, dtype=m.float64) |
    A._sparse_coo_tensor_with_dims_and_tensors.out(1, 0, [4], m.tensor([[0, 1]]), v[:2].detach(), out=sp * 1) |
    A._sparse_csr_sum(s2.to_sparse_csr(), [0], True) | A._sparse_csr_sum(s2.to_sparse_csr(), [1], True) |
    A._sparse_csr_prod(s2.to_sparse_csr(), [1], True) | A._sparse_csr_sum(s2.to_sparse_csr(), [0, 1], True) |
    A._sparse_softmax.int(s2, 1) | A._sparse_softmax_backward_data(s2, s2, 1, s2) |
    A._sparse_log_softmax_backward_data(s2, s2 * 0.5, 1, s2) | A._sparse_mask_projection(s2, s2 * 2) |
    A._sparse_sparse_matmul(s2, s2) | A.copy_sparse_to_sparse_(sp * 2, sp) | A.copy_sparse_to_sparse(sp * 2, sp) |
    A._to_dense(sp) | A._to_dense.out(sp, out=m.zeros(4, dtype=m.float64)) |
    A._gather_sparse_backward(x, 1, m.zeros(4, 4, dtype=m.int64), y) | A._gather_sparse_backward(x, 0, m.ones(2, 4, dtype=m.int64), y[:2]) |
    A._choose_qparams_per_tensor(x) | A._choose_qparams_per_tensor(x.float(), True) |
    A.choose_qparams_optimized(x.float().flatten(), 16, 200, 0.16, 8) | A.choose_qparams_optimized(m.cat([x.float().flatten(), m.tensor([9.0])]), 17, 200, 0.5, 4) |
    A.quantize_per_tensor(x.float(), 0.1, 2, m.quint8).dequantize() |
    A.quantize_per_tensor.tensor_qparams(x.float(), m.tensor(0.1), m.tensor(2), m.quint8).dequantize() |
    [q.dequantize() for q in A.quantize_per_tensor.tensors([x.float(), y.float()], m.tensor([0.1, 0.2]), m.tensor([0, 1]), m.quint8)] |
    A.quantize_per_tensor.out(x.float(), 0.1, 2, m.quint8, out=quantized).dequantize() |
    A.quantize_per_tensor_dynamic(x.float(), m.quint8, False).dequantize() |
    A.quantize_per_channel(x.float(), m.ones(4) * 0.1, m.zeros(4), 0, m.qint8).dequantize() |
    A.empty_quantized([2], quantized).q_scale() | A._empty_affine_quantized([2], scale=0.5, zero_point=3, dtype=m.quint8).q_zero_point() |
    A._empty_per_channel_affine_quantized([2, 3], scales=m.ones(2), zero_points=m.zeros(2), axis=0, dtype=m.qint8).q_per_channel_scales() |
    A._saturate_weight_to_fp16(x.float().detach() * 1e6) |
    A._native_multi_head_attention(sq, sq, sq, 6, 2, qw, qw[:, 0], qw[:6], qw[:6, 1]) |
    A._native_multi_head_attention(sq, sq, sq, 6, 2, qw, qw[:, 0], qw[:6], qw[:6, 1], im[0, 0] > 0.9, True, False, 0) |
    A._native_multi_head_attention(sq, sq, sq, 6, 2, qw, qw[:, 0], qw[:6], qw[:6, 1], sq[:, 0] > 0.8, True, True, 1) |
    A._transformer_encoder_layer_fwd(sq, 6, 2, qw, qw[:, 0], qw[:6], qw[:6, 1], True, False, 1e-5, *[qw[0]] * 4, qw, qw[:, 0], qw.t(), qw[:6, 1]) |
    A._transformer_encoder_layer_fwd(sq, 6, 2, qw, qw[:, 0], qw[:6], qw[:6, 1], False, True, 1e-5, *[qw[0]] * 4, qw, qw[:, 0], qw.t(), qw[:6, 1], im[0, 0] > 0.9, 0) |
    A._scaled_dot_product_attention_math(im, im, im) | A._scaled_dot_product_attention_math(im, im, im, None, 0.0, True) |
    A._scaled_dot_product_attention_math(im, im, im, m.ones(6, 6, dtype=m.float64) * 0.3, 0.0, False, None, scale=0.3) |
    A._scaled_dot_product_attention_math(im, im, im, im > 0, 0.5, False, im > -0.5) |
    A.batch_norm_backward(im.detach(), im.detach() * 2, v2.detach(), None, None, *A.native_batch_norm(im.detach() * 2, v2.detach(), None, None, None, True, 0.1, 1e-5)[1:], True, 1e-5, [True, True, True], m.zeros(0, dtype=m.uint8)) |
    A._batch_norm_impl_index_backward(0, im.detach() * 2, im.detach(), v2.detach(), None, None, *A.native_batch_norm(im.detach() * 2, v2.detach(), None, None, None, True, 0.1, 1e-5)[1:], True, 1e-5, [True, True, True], m.zeros(0, dtype=m.uint8)) |
    A._convolution_double_backward(im, w, None, w.new_ones(1, 3, 4, 4), w, im * 0.5, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True]) |
    A._convolution_double_backward(None, w, v2.new_ones(3), w.new_ones(1, 3, 4, 4), w * 2, im, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True]) |
    A._embedding_bag_backward(x[:2], *bag, 5, False, 0, False, None) | A._embedding_bag_backward(x[:2], *bag, 5, True, 1, False, None) |
    A._embedding_bag_backward(x[:2], *bag, 5, False, 0, True, v, 2) | A._embedding_bag_backward(x[:2], *bag, 5, False, 0, False, v, 2) |
    A._embedding_bag_dense_backward(x[:2, :2], *bag[:1], *bag[2:4], m.tensor([[0, 2], [1, 2]]), 5, False, 2, None) |
    A._embedding_bag_sparse_backward(x[:2], *bag[:4], 5, False, 1, None) |
    A._embedding_bag_per_sample_weights_backward(x[:2], y, *bag[:3], 0) | A._embedding_bag_per_sample_weights_backward(x[:2], y, *bag[:3], 0, 1) |
    A._thnn_differentiable_gru_cell_backward(x[:, :1], y[:, :3], y[:, 1:] * 0.5, x[:, 1:2], None, None) |
    A._thnn_differentiable_gru_cell_backward(x[:, :1], y[:, :3], y[:, 1:] * 0.5, x[:, 1:2], v[:3], v[1:]) |
    A._thnn_differentiable_lstm_cell_backward(x[:, :1], y[:, :1], y, y * 0.5, None, None, x[:, 1:2], x[:, 2:3]) |
    A._thnn_differentiable_lstm_cell_backward(x[:, :1], None, y, y * 0.5, v, v * 2, x[:, 1:2], x[:, 2:3]) |
    A._grid_sampler_2d_cpu_fallback((im * 8).round().float(), (grid * 4).round().float() / 4, 1, 0, True) |
    A._slow_conv2d_backward.grad_input(im.detach()[:, :1, :4, :4].expand(1, 3, 4, 4), im.detach(), w.detach(), [3, 3], [1, 1], [0, 0], grad_input=w.detach().new_zeros(0), grad_weight=w.detach().new_zeros(0), grad_bias=w.detach().new_zeros(0)) |
    A._upsample_lanczos2d_aa(im, [3, 4], False) | A._upsample_lanczos2d_aa(im, [9, 4], True) | A._upsample_lanczos2d_aa(im, [9, 4], False, 1.5, None) |
    A._upsample_lanczos2d_aa.vec(im, None, False, [0.5, 0.7]) | A._upsample_lanczos2d_aa_backward(im, [6, 6], [1, 2, 4, 5], False) |
    A._efficientzerotensor([2, 3]) + m.ones(2, 3) | A._efficientzerotensor.out([2, 3], out=m.ones(2, 3)) |
    A.promote_types(m.int8, m.uint8) | A.promote_types(m.float16, m.bfloat16) | A._to_copy.out(x.detach(), out=m.zeros(4, 4)) |
    A.new_empty_strided.out(x.detach(), [2, 3], [3, 1], out=m.zeros(2, 3)).shape | A.scalar_tensor.out(2.5, out=m.zeros(())) |
    A._scaled_mm_v2(*[t.detach().repeat(4, 4).to(m.float8_e4m3fn) for t in (x, y.t())], [m.ones(1)], [0], [0], [m.ones(1) * 2], [0], [0], None, m.float32)
"""


def arguments(m):
    """Tensors by the names that the calls use."""

    def made(*shape, start=0.37):
        n = 1
        for s in shape:
            n *= s
        values = (m.arange(n, dtype=m.float64) * 0.731 + start).sin()
        return values.view(*shape).requires_grad_()

    square = made(4, 4, start=1.1)
    kept = made(4, 4).detach().clamp(min=0)
    return {
        "x": made(4, 4),
        "y": square,
        "v": made(4),
        "v2": made(2),
        "w6": made(6),
        "z": m.complex(made(4, 4).detach(), made(4, 4, start=2.0).detach()).requires_grad_(),
        "im": made(1, 2, 6, 6),
        "w": made(3, 2, 3, 3),
        "grid": made(1, 3, 3, 2),
        "i": m.tensor([0, 2, 1]),
        "sq": made(2, 6, 6),
        "qw": made(18, 6),
        "sp": m.sparse_coo_tensor(m.tensor([[0, 2, 0]]), kept[0, :3] + 1, (4,)),
        "s2": kept.to_sparse(),
        "quantized": m.quantize_per_tensor(m.ones(4, 4), 0.5, 3, m.quint8),
        "pd": (square.detach().tril() + 3 * m.eye(4, dtype=m.float64)).requires_grad_(),
    }


def parts(made):
    if isinstance(made, (list, tuple)):
        return [p for one in made for p in parts(one)]
    return [made]


def outcome(m, call, graph=True):
    """The results, and the gradients of their sum; or the results alone."""
    given = arguments(m)
    if not graph:
        given = {name: t.detach() for name, t in given.items()}
    # indices, their bags' first places, the bag of each, sizes, and the places of maxima
    given["bag"] = [
        m.tensor(t, dtype=m.int64) for t in ([0, 2, 1, 2], [0, 2], [0, 0, 1, 1], [2, 2], [])
    ]
    found = parts(eval(call, {"A": m.ops.aten, "m": m, **given}))
    shown, total = [], None
    for value in found:
        if not isinstance(value, m.Tensor):
            shown.append(str(value).replace("pellucid.", "torch."))
            continue
        plain = value.detach()
        plain = (
            plain.to_dense()
            if plain.layout is not m.strided
            else plain.resolve_conj().resolve_neg()
        )
        shown.append((str(value.dtype).rpartition(".")[2], value.requires_grad, plain.numpy()))
        if value.requires_grad and value.grad_fn is not None and value.layout is m.strided:
            part = m.view_as_real(value.resolve_conj()) if value.is_complex() else value
            weights = (m.arange(part.numel(), dtype=part.dtype) * 0.3).cos().view(part.shape)
            total = (part * weights).sum() if total is None else total + (part * weights).sum()
    if total is not None:
        wanted = [t for t in given.values() if isinstance(t, m.Tensor) and t.requires_grad]
        for g in m.autograd.grad(total, wanted, allow_unused=True):
            shown.append(None if g is None else g.detach().resolve_conj().numpy())
    return shown


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", [c.strip() for c in CALLS.replace("\n", " ").split(" | ")])
def test_results_and_gradients(call):
    try:
        theirs, graph = outcome(torch, call), True
    except RuntimeError as error:  # what PyTorch has no gradient for
        assert "not implemented" in str(error) or "not differentiable" in str(error)
        theirs, graph = outcome(torch, call, False), False
    ours = outcome(pellucid, call, graph)
    assert len(theirs) == len(ours)
    for a, b in zip(theirs, ours, strict=True):
        if isinstance(a, tuple):
            assert a[:2] == b[:2]
            a, b = a[2], b[2]
        if isinstance(a, str) or a is None or b is None:
            zero = next((v for v in (a, b) if v is not None and not isinstance(v, str)), None)
            assert a == b if zero is None else not zero.any()
        else:
            assert a.shape == b.shape
            assert pellucid.allclose(
                pellucid.from_numpy(a.copy()).to(pellucid.complex128),
                pellucid.from_numpy(b.copy()).to(pellucid.complex128),
                rtol=1e-7,
                atol=1e-9,
                equal_nan=True,
            )


def _on_a_cpu(name, own):
    """Whether PyTorch has a kernel."""
    full = f"aten::{name}" + ("" if own == "default" else f".{own}")
    keys = ("CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd")
    try:
        return any(
            torch._C._dispatch_has_kernel_for_dispatch_key(full, key)
            for key in (*keys, "CompositeExplicitAutogradNonFunctional")
        )
    except RuntimeError:  # TorchScript's own
        return False


def test_what_is_not_computed_is_listed():
    left = {
        name
        for name, overloads in schema.aten().items()
        for own in overloads
        if _on_a_cpu(name, own) and not getattr(getattr(pellucid.ops.aten, name), own)._known()
    }
    reasons = json.loads((Path(__file__).parent / "aten_left.json").read_text())
    listed = [name for names in reasons.values() for name in names]
    assert left == set(listed)
    assert len(listed) == len(set(listed))
