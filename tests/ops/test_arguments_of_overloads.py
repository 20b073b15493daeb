"""What the comparison of every overload with PyTorch found: arguments that PyTorch refuses or takes,
in its words.
"""

import numpy as np
import pytest

import pellucid as torch
from pellucid.nn import functional as F

X = torch.arange(9.0).reshape(3, 3)
W = torch.arange(12.0).reshape(4, 3)
BAGS = torch.tensor([[0, 1], [2, 3]])


def refusals():
    """(call, class, text)."""
    lists = "expected Tensor as element 0 in argument 1, but got "
    yield lambda: torch.histogramdd(X, [2, 2], range="text"), TypeError, lists + "int"
    yield lambda: torch.gradient(X, spacing=[0.5], edge_order="text"), TypeError, lists + "float"
    net = (torch.ones(4, 1, 2), torch.ones(1, 1, 3), [torch.ones(3, 2), torch.ones(3, 3)])
    flags = (False, 1, 0.0, False, False, False)
    more = "Expected more {} in stacked_rnn"
    yield lambda: torch.gru(*net[:2], [], *flags), RuntimeError, more.format("weights")
    many = (False, 9, *flags[2:])
    yield lambda: torch.gru(*net, *many), RuntimeError, more.format("hidden states")
    pair = "im2col(): argument 'kernel_size' (position 2) must be tuple of ints, but found element"
    for kernel, found in (("text", "str"), (None, "NoneType"), (True, "bool")):
        yield (
            lambda kernel=kernel: F.unfold(torch.ones(1, 2, 4, 4), kernel),
            TypeError,
            f"{pair} of type {found} at pos 0",
        )
    yield (
        lambda: F.unfold(torch.ones(1, 2, 4, 4), (2,)),
        RuntimeError,
        "It is expected kernel_size equals to 2, but got size 1",
    )
    operand = "unsupported operand type(s) for //: 'str' and 'int'"
    yield lambda: torch.stft(X[0], "2"), TypeError, operand
    mode = "pad(): argument 'mode' (position 3) must be str, not NoneType"
    yield lambda: torch.stft(X, 2, pad_mode=None, return_complex=True), TypeError, mode
    known = "got an unexpected keyword argument"
    own = f"_consecutive_return_output() {known} 'axis'"
    yield lambda: torch.unique_consecutive(X, axis=0), TypeError, own
    yield lambda: F.threshold(X, 1, 2, out=X), TypeError, f"_threshold() {known} 'out'"
    yield lambda: torch.norm(X, axis=0), TypeError, f"norm() {known} 'axis'"
    flag = "unique_consecutive(): argument 'return_inverse' must be bool, not NoneType"
    yield lambda: X.unique_consecutive(None), TypeError, flag
    sparse = torch.eye(3).to_sparse()
    keywords = "TensorBase.coalesce() takes no keyword arguments"
    yield lambda: sparse.coalesce(a=1), TypeError, keywords
    yield lambda: torch.native_norm(sparse, a=1), TypeError, f"native_norm() {known} 'a'"
    yield lambda: torch.trapz(X, None), TypeError, None
    yield lambda: torch.max(X, np.ones(2, np.float32)), TypeError, None
    must = "(): argument 'input' (position 1) must be Tensor, not NoneType"
    for name in ("hardsigmoid", "mish", "silu", "selu", "relu6"):
        yield lambda name=name: getattr(F, name)(None), TypeError, name + must
    yield lambda: torch.logical_not(None), TypeError, "logical_not" + must
    size = "adaptive_avg_pool2d(): argument 'output_size' (position 2) must be tuple of ints, but"
    image = torch.ones(1, 1, 4, 4)
    found = f"{size} found element of type float at pos 0"
    yield lambda: F.adaptive_avg_pool2d(image, [2.0, 2.0]), TypeError, found
    length = "object of type 'NoneType' has no len()"
    yield lambda: F.adaptive_avg_pool2d(image, None), TypeError, length
    number = "'numpy.ndarray' object has no attribute 'dim'"
    offsets = np.ones(2, np.float32)
    bag = torch.tensor([0, 1])
    yield lambda: F.embedding_bag(bag, W, offsets), AttributeError, number
    bags = "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
    kinds = "Half, BFloat16, Float, Double; but got torch.IntTensor instead"
    wrong = f"{bags}{kinds} (while checking arguments for embedding_bag)"
    yield lambda: F.embedding_bag(bag, W.int(), bag), RuntimeError, wrong
    unpack = 'failed to unpack the object at pos 2 with error "type must be tuple of ints,but got '
    yield lambda: X.squeeze(0, "a"), TypeError, f"squeeze(): argument 'dim' {unpack}str\""
    yield lambda: X.amax([0, 1.5]), TypeError, f"amax(): argument 'dim' {unpack}float\""
    own = "split() received an invalid combination of arguments - got (Tensor, bool, int), but"
    yield lambda: torch.split(X, True), TypeError, own
    name = "'NoneType' object has no attribute 'split'"
    yield lambda: torch.split(None, 1), AttributeError, name
    empty = "unflatten: sizes must be non-empty"
    yield lambda: X.unflatten(0, None), RuntimeError, empty
    blocks = "dense_to_sparse_bsr: blocksize needs to be a tuple of size 2, but got 0"
    yield lambda: X.to_sparse_bsr(()), RuntimeError, blocks
    dense = "dense_to_sparse_csr: dense_dim argument must be in [0,0] range, but 1 is given"
    yield lambda: X.to_sparse_csr(1), RuntimeError, dense
    lacking = "solve() missing 1 required positional argument: 'A'"
    yield lambda: torch.solve(X), TypeError, lacking
    bare = "torch.is_anomaly_enabled() takes no arguments (1 given)"
    yield lambda: torch.is_anomaly_enabled(1), TypeError, bare
    rank = "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: [4]"
    yield lambda: torch.conv2d(torch.ones(4), torch.ones(4)), RuntimeError, rank
    cell = "weight_ih first dim must be 1 * hidden_size = 4, but got 5"
    sizes = [(2, 5), (2, 4), (5, 5), (4, 4)]
    yield lambda: torch.rnn_tanh_cell(*map(torch.ones, sizes)), RuntimeError, cell
    overlap = (
        "unsupported operation: more than one element of the written-to tensor refers to a single"
    )
    yield lambda: torch.ones(1).expand(3).mul_(torch.ones(2, 3)), RuntimeError, overlap
    device = "Cannot access accelerator device when none is available."
    yield lambda: X.to(5), RuntimeError, device
    norm = "norm(): input dtype should be either floating point or complex. Got Int instead."
    yield lambda: F.embedding(bag, W.int(), max_norm=1.0), RuntimeError, norm


@pytest.mark.filterwarnings("ignore")
def test_refused_in_pytorch_s_words():
    for function in (torch.trapz, torch.logical_not):
        function(X)  # what a first call admits does not admit the next
    for call, kind, text in refusals():
        with pytest.raises(kind) as refused:
            call()
        assert text is None or str(refused.value).startswith(text)


def test_bags_of_rows_of_indices():
    """As of all indices in a line; a mean divides by how many of so many as there are rows lie in
    the bag.
    """
    total, bag, sizes, _ = torch.embedding_bag(W, BAGS, torch.tensor([0, 2]))
    assert total.tolist() == [[3.0, 5.0, 7.0], [15.0, 17.0, 19.0]]
    assert bag.tolist() == [] and sizes.tolist() == [0, 0]
    total, bag, sizes, _ = torch.embedding_bag(W, BAGS, torch.tensor([0]), False, 1)
    assert total.tolist() == [[9.0, 11.0, 13.0]] and sizes.tolist() == [2]
    with pytest.raises(
        RuntimeError, match="offsets\\[-1\\] can not be greater than input's length 2"
    ):
        torch.embedding_bag(W, BAGS, torch.tensor([0, 4]))
    with pytest.raises(NotImplementedError, match="the maximum over 2-D indices"):
        torch.embedding_bag(W, BAGS, torch.tensor([0, 2]), False, 2)


def test_a_mean_counts_what_comes_after_the_last_offset():
    table, index = W, torch.tensor([0, 2, 1])
    made = F.embedding_bag(index, table, torch.tensor([0, 2]), include_last_offset=True)
    assert torch.equal(made, (W[:1] + W[2:3]) / 3)


def test_a_mode_of_bags_is_looked_at_when_they_are_made():
    bag = torch.nn.EmbeddingBag(3, 2, mode=0)
    assert repr(bag) == "EmbeddingBag(3, 2, mode=0)"
    with pytest.raises(ValueError, match="mode has to be one of sum, mean or max"):
        bag(torch.tensor([[0, 1]]))


def test_places_of_samples_may_be_fewer():
    made = torch.gradient(torch.ones(3, 4).cumsum(1), spacing=[torch.tensor([0.0, 1.0, 2.0])] * 2)
    assert torch.equal(made[1], torch.ones(3, 4))


def test_products_of_reflections_lie_column_by_column():
    packed, tau = torch.geqrf(X + torch.eye(3))
    assert torch.linalg.householder_product(packed, tau).stride() == (1, 3)
    assert torch.ormqr(packed, tau, X).stride() == (1, 3)


def test_short_entries_refuse_what_long_ones_refuse():
    for _ in range(210):
        torch.special.modified_bessel_i0(X)
    with pytest.raises(NotImplementedError, match="not implemented for 'BFloat16'"):
        torch.special.modified_bessel_i0(X.bfloat16())


def test_short_entries_of_what_python_calls():
    for _ in range(450):
        F.unfold(torch.ones(1, 1, 2, 2), 2)
    with pytest.raises(TypeError, match="im2col\\(\\): argument 'stride' \\(position 5\\)"):
        F.unfold(torch.ones(1, 1, 2, 2), 2, stride="text")
