"""What compiled steps do around matrix products and attention: results made where the next one
wants them.
"""

import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid.llvm import target

pytestmark = pytest.mark.skipif(not target.available(), reason="no compiler")


def operations(compiled):
    runs = compiled.versions[0].code.executables
    return [
        i.op for run in runs if run is not None for item in run.items for i in item.instructions
    ]


def stepped(f, *arrays, calls=3):
    """Gradients of `f` in a compiled step equal eager ones, on other values each time; gives the
    compiled function.
    """
    tensors = [torch.zeros(*shape, requires_grad=True) for shape in arrays]

    def step():
        for t in tensors:
            t.grad = None
        y = f(*tensors)
        (y * y.cos()).sum().backward()
        return y

    compiled, g = torch.compile(step), torch.Generator().manual_seed(5)
    for _ in range(calls):
        with torch.no_grad():
            for t in tensors:
                t.copy_(torch.randn(*t.shape, generator=g) * 0.5)
        expected, wanted = step(), [t.grad for t in tensors]
        torch.testing.assert_close(compiled(), expected, rtol=3e-5, atol=3e-5)
        for t, w in zip(tensors, wanted, strict=True):
            torch.testing.assert_close(t.grad, w, rtol=3e-5, atol=3e-5)
    assert compiled.versions[0].hits >= calls - 1
    return compiled


def attention(qkv, heads, causal=True):
    batch, steps, width = qkv.shape
    q, k, v = (
        t.view(batch, steps, heads, -1).transpose(1, 2) for t in qkv.split(width // 3, dim=2)
    )
    return (
        F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        .transpose(1, 2)
        .reshape(batch, steps, width // 3)
    )


@pytest.mark.parametrize(
    "batch, steps, heads, width", [(2, 7, 3, 5), (1, 64, 2, 16), (3, 1, 1, 8), (2, 33, 4, 1)]
)
def test_gradients_of_queries_keys_and_values_are_made_in_one_array(batch, steps, heads, width):
    compiled = stepped(
        lambda x, w: attention(F.linear(x, w), heads), (batch, steps, 12), (3 * heads * width, 12)
    )  # fmt: skip
    made = operations(compiled)
    assert "scaled_dot_product_attention_vjp" in made
    assert "cat" not in made


def test_a_part_that_somebody_else_reads_is_copied():
    def f(x):
        x = x * 1.5
        q, k, v = (t.view(2, 6, 2, 4).transpose(1, 2) for t in x.split(8, dim=2))
        y = F.scaled_dot_product_attention(q, k, v)
        return torch.cat(
            [y.transpose(1, 2).reshape(2, 6, 8), y.transpose(1, 2).reshape(2, 6, 8) * 2], dim=2
        )

    assert "cat" in operations(stepped(f, (2, 6, 24)))
