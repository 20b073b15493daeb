"""What nodes show of what they keep (`grad_fn._saved_self`): names and values, compared with PyTorch
over the functions that programs use most. Counts that must not fall.
"""

import pytest

import pellucid

torch = pytest.importorskip("torch")

CALLS = """
    x**2 | x**y | 2**x | x*y | x/y | x.exp() | x.sigmoid() | x.tanh() | x.relu() | x.sqrt() |
    x.log() | x.sum() | x.sum(0) | x.mean() | x.mean(1) | x.max() | x.max(1)[0] | x.min(0)[0] |
    x.softmax(1) | x.log_softmax(0) | x[0] | x[0:2] | x[i] | x[:,1] | x.t() | x.transpose(0,1) |
    x.permute(1,0) | x.view(9) | x.reshape(9) | x.expand(2,3,3) | x.unsqueeze(0) | x.squeeze() |
    x.squeeze(0) | torch.cat([x,y]) | torch.stack([x,y]) | x.clone() | x.abs() | x.norm() |
    x.norm(2,1) | x.pow(3) | x.matmul(y) | x@b | b@b | torch.bmm(x[None],y[None]) |
    torch.addmm(x,x,y) | x.std() | x.var(0) | x.prod() | x.cumsum(0) | x.clamp(0,1) |
    x.clamp(min=0) | torch.where(x>0,x,y) | x.masked_fill(x>0.5,0.) | x.gather(0,i[None]) |
    x.index_select(0,i) | x.scatter(0,i[None],y) | x.repeat(2,1) | x.flip(0) | x.roll(1) |
    x.tril() | x.sort()[0] | x.topk(2)[0] | x.chunk(2)[0] | x.split(1)[0] | x.unbind()[0] |
    x.to(torch.float64) | x.sin() | x.cos() | x+y | x-y | x+1 | x*2 | x/2 | -x | 1/x | 2-x |
    F.relu(x) | F.gelu(x) | F.silu(x) | F.elu(x) | F.leaky_relu(x) | F.softplus(x) |
    F.hardtanh(x) | F.dropout(x,0.5) | F.linear(x,y) | F.linear(x,y,b) | F.mse_loss(x,y) |
    F.l1_loss(x,y) | F.smooth_l1_loss(x,y) | F.cross_entropy(x,i) | F.nll_loss(x,i) |
    F.binary_cross_entropy(x.sigmoid(),y.sigmoid()) | F.binary_cross_entropy_with_logits(x,y) |
    F.kl_div(x,y) | F.embedding(i,x) | F.layer_norm(x,(3,),b,b) |
    F.batch_norm(x,None,None,b,b,True) | F.group_norm(im,2) | F.conv2d(im,w) |
    F.conv2d(im,w,b,padding=1) | F.conv_transpose2d(im,w.transpose(0,1).contiguous()) |
    F.max_pool2d(im,2) | F.avg_pool2d(im,2) | F.adaptive_avg_pool2d(im,2) |
    F.adaptive_avg_pool2d(im,1) | F.interpolate(im,scale_factor=2) |
    F.interpolate(im,scale_factor=2,mode='bilinear') | F.pad(im,(1,1)) |
    F.pad(x,(1,1),mode='reflect') | F.normalize(x) | F.cosine_similarity(x,y) | x.logsumexp(1) |
    torch.einsum('ij,jk->ik',x,y) | x.trace() | x.diag() | x.det() | x.inverse() |
    torch.linalg.svd(x)[1] | torch.linalg.solve(x,y) | x.erf() | x.round() | x.sign() |
    x.floor() | x.rsqrt() | x.reciprocal() | x.lerp(y,0.5) | x.addcmul(x,y) | x.addcdiv(x,y) |
    x.maximum(y) | torch.atan2(x,y) | x.contiguous() | x.detach().requires_grad_().mul(2) |
    x.narrow(0,0,1) | x.select(0,1) | x.unfold(0,2,1) | x.as_strided((2,),(1,)) |
    x.mean(dim=(0,1)) | x.amax(1) | x.argmax(1).float() |
    F.scaled_dot_product_attention(x[None,None],y[None,None],y[None,None]) | F.glu(x[:,:2]) |
    F.prelu(x,b) | F.log_softmax(x,1) | F.hardswish(x) | F.mish(x) | F.selu(x) | x.cumprod(0) |
    x.renorm(2,0,1.) | torch.dist(x,y) | torch.cdist(x,y)
"""
EQUAL, EXTRA = 220, 46  # of 415


def shown(library):
    """Of each call: its node's saved attributes as text."""
    library.manual_seed(0)
    F = library.nn.functional
    x, y = (library.rand(3, 3, requires_grad=True) for _ in range(2))
    b, i = library.rand(3, requires_grad=True), library.tensor([0, 2, 1])
    im, w = (library.rand(s, requires_grad=True) for s in ((1, 2, 6, 6), (3, 2, 3, 3)))
    scope = {"torch": library, "F": F, "x": x, "y": y, "b": b, "i": i, "im": im, "w": w}
    found = {}
    for call in CALLS.replace("\n", " ").split(" | "):
        node = eval(call.strip(), scope).grad_fn
        names = [name for name in dir(node) if name.startswith("_saved_")]
        found[call.strip()] = {
            name: str(getattr(node, name)).replace("pellucid.", "torch.") for name in names
        }
    return found


@pytest.mark.filterwarnings("ignore")
def test_counts_do_not_fall():
    theirs, ours = shown(torch), shown(pellucid)
    equal = sum(
        ours[call].get(name) == text for call, kept in theirs.items() for name, text in kept.items()
    )
    extra = sum(len(ours[call].keys() - kept.keys()) for call, kept in theirs.items())
    assert equal >= EQUAL
    assert extra <= EXTRA
