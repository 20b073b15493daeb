"""Every public function with sparse arguments: it answers what the dense function answers, or
raises; none reads a sparse tensor as dense.
"""

import warnings

import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays.sparse.array import SparseArray
from pellucid.core.public import FUNCTIONS, METHODS
from pellucid.core.tensor import Tensor
from pellucid.sparse._tensor import SparseTensor

A = np.array([[1, 0, 2, 0], [0, 0, 3, 0], [0, 4, 0, 0], [5, 0, 0, 6]], np.float32)
# S: in coordinates, C: in compressed rows, D: dense, i: indices, digits: numbers.
CALLS = ("S", "SS", "SD", "DS", "S1", "S01", "SDD", "DSD", "S0i", "C", "CC", "CD", "DC", "C1")
# Draws, settings, and what asks of memory or layout.
ASIDE = {
    "seed",
    "manual_seed",
    "initial_seed",
    "set_rng_state",
    "get_rng_state",
    "bernoulli",
    "bernoulli_",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "alpha_dropout",
    "feature_dropout",
    "feature_alpha_dropout",
    "rand_like",
    "randn_like",
    "randint_like",
    "multinomial",
    "poisson",
    "native_norm",  # of sparse tensors alone
    "svd_lowrank",
    "pca_lowrank",
    "empty_like",
    "ones_like",  # of compressed layouts: ones where elements are stored
    "new_empty",
    "type",
    "sparse_dim",
    "dense_dim",
    "_indices",
    "_values",
    "_nnz",
    "indices",
    "values",
    "crow_indices",
    "col_indices",
    "is_coalesced",
    "coalesce",
    "stride",
    "storage_offset",
    "is_contiguous",
    "storage_type",
    "nbytes",
    "__iter__",
    "__repr__",
    "__str__",
    "__format__",
    "__reduce_ex__",
    "__deepcopy__",
    "__hash__",
    "__dir__",
    "set_default_device",
    "set_printoptions",
    "typename",
    "fork",
    "wait",
    "crow_indices_copy",
    "col_indices_copy",
    "values_copy",
    "is_nonzero",
    "register_hook",
    "set_deterministic_debug_mode",
    "set_warn_always",
    "set_num_threads",
    "set_num_interop_threads",
    "use_deterministic_algorithms",
    "set_flush_denormal",
    "set_float32_matmul_precision",
    "smm",
    "sspaddmm",
    "__rdiv__",
    "__rtruediv__",
    "new",
    "sparse_mask",
    "resize_as_sparse_",
    "normal",
    "gumbel_softmax",
    "_repr_html_",
    "fill_",
    "set_default_dtype",
    "set_default_tensor_type",
    "set_anomaly_enabled",
    "init_num_threads",
    "dim_order",
    "module_load",
    "__setstate__",
}


def arguments(call, dense=False):
    d = torch.from_numpy(A.copy())
    made = {
        "S": d if dense else d.to_sparse(),
        "C": d.clone() if dense else d.to_sparse_csr(),
        "D": d.clone(),
        "i": torch.tensor([0, 1]),
    }
    return [int(c) if c.isdigit() else made[c] for c in call]


def plain(x):
    if isinstance(x, Tensor):
        assert (type(x._array) is SparseArray) == isinstance(x, SparseTensor)
        return (x.to_dense() if type(x._array) is SparseArray else x).detach().numpy()
    return [plain(v) for v in x] if isinstance(x, (list, tuple)) else x


def same(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return (
            isinstance(b, np.ndarray)
            and a.shape == b.shape
            and np.allclose(a, b, equal_nan=True, atol=1e-5)
        )
    return type(a) is type(b) and (a == b or not isinstance(a, (int, float, str, bool)))


SPACES = {
    "torch": FUNCTIONS["torch"],
    "nn.functional": FUNCTIONS["nn.functional"],
    "linalg": FUNCTIONS["linalg"],
    "Tensor": METHODS,
}


@pytest.mark.parametrize("space", SPACES)
def test_answers_are_those_of_dense_tensors(space):
    answers, wrong = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, function in sorted(SPACES[space].items()):
            if name in ASIDE or isinstance(function, type) or not callable(function):
                continue
            # Of methods the sparse tensor's own, as a program would call them.
            run = (
                (lambda *args, name=name: getattr(args[0], name)(*args[1:]))
                if space == "Tensor"
                else function
            )
            for call in CALLS:
                try:
                    got = plain(run(*arguments(call)))
                except (Exception, SystemExit):
                    continue
                answers += 1
                try:
                    expected = plain(run(*arguments(call, dense=True)))
                except Exception as error:
                    expected = error
                if not same(expected, got):
                    wrong.append((name, call, got, expected))
    assert not wrong
    assert answers > {"torch": 150, "nn.functional": 2, "linalg": 1, "Tensor": 150}[space]
