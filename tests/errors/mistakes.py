"""Mistakes that learners make with shapes, dtypes and indices. Each function takes the library, so
that two can be compared.
"""

from types import SimpleNamespace

import numpy as np

MISTAKES = {}


def mistake(function):
    MISTAKES[function.__name__] = function
    return function


def library(torch, nn, functional):
    """What the functions take."""
    return SimpleNamespace(torch=torch, nn=nn, F=functional, ones=torch.ones)


@mistake
def missing_flatten(lib):
    return lib.nn.Sequential(lib.nn.Conv2d(1, 4, 3), lib.nn.ReLU(), lib.nn.Linear(4 * 6 * 6, 10))(
        lib.ones(2, 1, 8, 8)
    )


@mistake
def wrong_in_features(lib):
    nn = lib.nn
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 5 * 5, 10)
    )
    return net(lib.ones(2, 3, 16, 16))


@mistake
def flatten_all(lib):
    x = lib.ones(4, 1, 28, 28).flatten()
    return lib.nn.Linear(784, 10)(x)


@mistake
def flatten_wrong_view(lib):
    x = lib.ones(4, 3, 8, 8)
    return lib.nn.Linear(192, 10)(x.view(-1, 8 * 8))


@mistake
def linear_feature_mismatch(lib):
    return lib.nn.Linear(10, 5)(lib.ones(8, 20))


@mistake
def linear_chain(lib):
    return lib.nn.Sequential(lib.nn.Linear(10, 32), lib.nn.ReLU(), lib.nn.Linear(64, 1))(
        lib.ones(4, 10)
    )


@mistake
def linear_transposed_input(lib):
    return lib.nn.Linear(4, 2)(lib.ones(4, 16))


@mistake
def matmul_needs_transpose(lib):
    return lib.ones(8, 16) @ lib.ones(8, 16)


@mistake
def matmul_inner(lib):
    return lib.ones(2, 3) @ lib.ones(4, 5)


@mistake
def batched_matmul_scores(lib):
    q, k = (lib.ones(2, 4, 10, 16), lib.ones(2, 4, 10, 16))
    return q @ k


@mistake
def matmul_vec(lib):
    return lib.ones(3, 4) @ lib.ones(3)


@mistake
def mm_3d(lib):
    return lib.torch.mm(lib.ones(2, 3, 4), lib.ones(4, 5))


@mistake
def bmm_2d(lib):
    return lib.torch.bmm(lib.ones(3, 4), lib.ones(4, 5))


@mistake
def bmm_batch(lib):
    return lib.torch.bmm(lib.ones(2, 3, 4), lib.ones(3, 4, 5))


@mistake
def add_mismatch(lib):
    return lib.ones(32, 10) + lib.ones(32)


@mistake
def add_channels(lib):
    return lib.ones(8, 3, 32, 32) * lib.ones(3)


@mistake
def add_transposed(lib):
    return lib.ones(3, 5) + lib.ones(5, 3)


@mistake
def add_off_by_one(lib):
    x = lib.ones(10, 7)
    return x[1:] - x[:, :-1]


@mistake
def residual(lib):
    x = lib.ones(2, 8, 16, 16)
    return x + lib.nn.Conv2d(8, 8, 3)(x)


@mistake
def conv_channels_last(lib):
    return lib.nn.Conv2d(3, 8, 3)(lib.ones(4, 32, 32, 3))


@mistake
def conv_grayscale(lib):
    return lib.nn.Conv2d(3, 8, 3)(lib.ones(4, 1, 28, 28))


@mistake
def conv_no_channel(lib):
    return lib.nn.Conv2d(1, 8, 3)(lib.ones(4, 28, 28))


@mistake
def conv_2d_input(lib):
    return lib.nn.Conv2d(1, 8, 3)(lib.ones(28, 28))


@mistake
def conv_too_small(lib):
    return lib.nn.Conv2d(1, 8, 5)(lib.ones(2, 1, 3, 3))


@mistake
def conv1d_channels(lib):
    return lib.nn.Conv1d(16, 8, 3)(lib.ones(4, 50, 16))


@mistake
def pool_too_small(lib):
    return lib.nn.MaxPool2d(4)(lib.ones(1, 1, 2, 2))


@mistake
def bn_features(lib):
    return lib.nn.BatchNorm2d(16)(lib.ones(2, 8, 4, 4))


@mistake
def bn1d_4d(lib):
    return lib.nn.BatchNorm1d(8)(lib.ones(2, 8, 4, 4))


@mistake
def bn_batch_one(lib):
    return lib.nn.BatchNorm1d(4)(lib.ones(1, 4))


@mistake
def layernorm_shape(lib):
    return lib.nn.LayerNorm(10)(lib.ones(2, 5, 20))


@mistake
def groupnorm(lib):
    return lib.nn.GroupNorm(4, 8)(lib.ones(2, 6, 3, 3))


@mistake
def embedding_float(lib):
    return lib.nn.Embedding(10, 4)(lib.ones(2, 3))


@mistake
def embedding_range(lib):
    return lib.nn.Embedding(10, 4)(lib.torch.tensor([1, 10]))


@mistake
def lstm_batch_first(lib):
    r = lib.nn.LSTM(8, 16, batch_first=True)
    return r(lib.ones(5, 3, 8), (lib.torch.zeros(1, 3, 16), lib.torch.zeros(1, 3, 16)))


@mistake
def lstm_features(lib):
    return lib.nn.LSTM(8, 16)(lib.ones(5, 3, 10))


@mistake
def gru_hidden(lib):
    return lib.nn.GRU(8, 16)(lib.ones(5, 3, 8), lib.torch.zeros(1, 3, 8))


@mistake
def lstm_h_2d(lib):
    return lib.nn.LSTM(8, 16)(lib.ones(5, 3, 8), (lib.torch.zeros(3, 16), lib.torch.zeros(3, 16)))


@mistake
def rnn_4d(lib):
    return lib.nn.RNN(8, 16)(lib.ones(5, 3, 2, 8))


@mistake
def ce_batch(lib):
    return lib.F.cross_entropy(lib.ones(4, 3), lib.torch.tensor([0, 1, 2]))


@mistake
def ce_onehot_int(lib):
    return lib.F.cross_entropy(lib.ones(4, 3), lib.torch.tensor([[1, 0, 0]] * 4))


@mistake
def ce_column(lib):
    return lib.F.cross_entropy(lib.ones(4, 3), lib.torch.tensor([[0], [1], [2], [0]]))


@mistake
def ce_float(lib):
    return lib.F.cross_entropy(lib.ones(4, 3), lib.torch.tensor([0.0, 1.0, 2.0, 0.0]))


@mistake
def ce_range(lib):
    return lib.F.cross_entropy(lib.ones(4, 3), lib.torch.tensor([0, 1, 2, 3]))


@mistake
def ce_seq(lib):
    return lib.F.cross_entropy(lib.ones(4, 7, 3), lib.torch.zeros(4, 7, dtype=lib.torch.long))


@mistake
def bce_shape(lib):
    return lib.F.binary_cross_entropy(lib.ones(4, 1), lib.ones(4))


@mistake
def bce_range(lib):
    return lib.F.binary_cross_entropy(lib.ones(4) * 3 + 1, lib.ones(4))


@mistake
def bcel_int(lib):
    return lib.F.binary_cross_entropy_with_logits(lib.ones(4), lib.torch.tensor([0, 1, 0, 1]))


@mistake
def mse_mismatch(lib):
    return lib.F.mse_loss(lib.ones(4, 2), lib.ones(4, 3))


@mistake
def nll_shape(lib):
    return lib.F.nll_loss(lib.ones(4, 3, 2), lib.torch.tensor([0, 1, 2, 0]))


@mistake
def cat_mismatch(lib):
    return lib.torch.cat([lib.ones(2, 3), lib.ones(2, 4)])


@mistake
def cat_of_patches_without_a_transpose(lib):
    patches = lib.nn.Conv2d(3, 64, 8, stride=8)(lib.ones(2, 3, 32, 32)).flatten(2)
    return lib.torch.cat([lib.ones(2, 1, 64), patches], dim=1)


@mistake
def cat_dims(lib):
    return lib.torch.cat([lib.ones(2, 3), lib.ones(3)])


@mistake
def stack_mismatch(lib):
    return lib.torch.stack([lib.ones(2, 3), lib.ones(2, 4)])


@mistake
def view_size(lib):
    return lib.ones(4, 6).view(5, 5)


@mistake
def view_permuted(lib):
    return lib.ones(2, 3, 4).permute(0, 2, 1).view(2, 12)


@mistake
def reshape_minus(lib):
    return lib.ones(10, 3).reshape(4, -1)


@mistake
def permute_count(lib):
    return lib.ones(2, 3, 4).permute(0, 1)


@mistake
def transpose_range(lib):
    return lib.ones(3).t().transpose(0, 1)


@mistake
def squeeze_dim(lib):
    return lib.ones(3, 1).sum(2)


@mistake
def unpack_index(lib):
    return lib.ones(3, 4)[0, 1, 2]


@mistake
def index_range(lib):
    return lib.ones(3, 4)[5]


@mistake
def bool_mask(lib):
    return lib.ones(3, 4)[lib.torch.ones(4, dtype=lib.torch.bool)]


@mistake
def index_float(lib):
    return lib.ones(3)[lib.torch.tensor([0.0, 1.0])]


@mistake
def gather_dims(lib):
    return lib.torch.gather(lib.ones(3, 4), 1, lib.torch.tensor([0, 1, 2]))


@mistake
def gather_float(lib):
    return lib.torch.gather(lib.ones(3, 4), 1, lib.torch.zeros(3, 1))


@mistake
def expand_bad(lib):
    return lib.ones(3, 4).expand(3, 8)


@mistake
def einsum_bad(lib):
    return lib.torch.einsum("bij,bjk->bik", lib.ones(2, 3, 4), lib.ones(2, 5, 6))


@mistake
def dtype_matmul(lib):
    return lib.ones(2, 3) @ lib.torch.ones(3, 2, dtype=lib.torch.float64)


@mistake
def dtype_linear(lib):
    return lib.nn.Linear(3, 2)(lib.torch.ones(4, 3, dtype=lib.torch.float64))


@mistake
def int_linear(lib):
    return lib.nn.Linear(3, 2)(lib.torch.ones(4, 3, dtype=lib.torch.long))


@mistake
def mean_int(lib):
    return lib.torch.arange(4).mean()


@mistake
def sdpa(lib):
    return lib.F.scaled_dot_product_attention(
        lib.ones(2, 4, 8), lib.ones(2, 4, 6), lib.ones(2, 4, 8)
    )


@mistake
def attn_mask(lib):
    return lib.nn.MultiheadAttention(16, 4, batch_first=True)(
        lib.ones(2, 5, 16), lib.ones(2, 5, 16), lib.ones(2, 5, 16), attn_mask=lib.torch.zeros(4, 4)
    )


@mistake
def inplace_broadcast(lib):
    x = lib.torch.zeros(3, 1)
    x += lib.ones(3, 4)
    return x


@mistake
def assign_shape(lib):
    x = lib.torch.zeros(3, 4)
    x[0] = lib.ones(3)
    return x


@mistake
def where_shape(lib):
    return lib.torch.where(lib.ones(3) > 0, lib.ones(4), lib.ones(4))


@mistake
def dot_2d(lib):
    return lib.torch.dot(lib.ones(3, 1), lib.ones(3))


@mistake
def backward_grad_shape(lib):
    y = lib.ones(3).requires_grad_() * 2
    y.backward(lib.torch.ones(4))


@mistake
def cdist_dims(lib):
    return lib.torch.cdist(lib.ones(3, 4), lib.ones(5, 6))


@mistake
def convtranspose(lib):
    return lib.nn.ConvTranspose2d(8, 3, 2)(lib.ones(1, 3, 8, 8))


@mistake
def softmax_dim(lib):
    return lib.F.softmax(lib.ones(3), dim=1)


@mistake
def one_hot_float(lib):
    return lib.F.one_hot(lib.ones(3))


@mistake
def split_sizes(lib):
    return lib.torch.split(lib.ones(10, 2), [3, 3])


@mistake
def numpy_input(lib):
    return lib.nn.Linear(3, 2)(np.ones((2, 3), dtype="float32"))


@mistake
def list_input(lib):
    return lib.nn.Linear(3, 2)([1.0, 2.0, 3.0])


@mistake
def embedding_negative(lib):
    return lib.nn.Embedding(3, 2)(lib.torch.tensor([-1, 0]))


@mistake
def where_of_floats(lib):
    return lib.torch.where(lib.ones(3), 1.0, 0.0)


@mistake
def index_by_quotient(lib):
    return lib.ones(4)[4 / 2]


@mistake
def cat_of_numbers(lib):
    return lib.torch.cat([lib.ones(3).sum(), lib.ones(3).mean()])


@mistake
def integer_that_requires_grad(lib):
    return lib.torch.tensor([1, 2], requires_grad=True)


@mistake
def integer_parameter(lib):
    return lib.nn.Parameter(lib.torch.tensor([1, 2]))


@mistake
def scores_without_batch(lib):
    return lib.F.cross_entropy(lib.ones(3), lib.torch.tensor([1, 2, 0]))


@mistake
def int32_labels(lib):
    return lib.F.cross_entropy(lib.ones(2, 3), lib.torch.tensor([1, 2], dtype=lib.torch.int32))


@mistake
def tensors_in_a_list(lib):
    return lib.torch.tensor([lib.ones(2), lib.ones(2)])


@mistake
def float_of_many(lib):
    return float(lib.ones(2))


@mistake
def scatter_of_doubles(lib):
    index = lib.torch.zeros(3, 1, dtype=lib.torch.int64)
    return lib.ones(3, 4).scatter(1, index, lib.ones(3, 1).double())


@mistake
def initialized_bias(lib):
    return lib.nn.init.xavier_uniform_(lib.ones(3))
