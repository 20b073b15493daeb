"""Calls with something wrong, or seldom, in an argument, and PyTorch's words for them."""

import warnings

import pytest

import pellucid

CALLS = r"""
torch.addr_(m,x,x)  ->  AttributeError: module 'torch' has no attribute 'addr_'
m.addr_(x,x[:1])  ->  RuntimeError: size mismatch, input: [2, 2], v1: [2], v2: [1]
torch.sspaddmm(m.to_sparse(),m,m)  ->  RuntimeError: sspaddmm: expected 'mat1' to have sparse layout, got 'mat1' with layout Strided
torch.sspaddmm(m.to_sparse(),m.to_sparse(),m[:1])  ->  RuntimeError: sspaddmm: Argument #3: Expected dim 0 size 2, got 1
torch.linspace(1j,2,3,dtype=torch.float32)  ->  RuntimeError: torch.linspace(): inferred dtype c10::complex<float> can't be safely cast to passed dtype Float
torch.logspace(1,2,3,dtype=torch.bool)  ->  NotImplementedError: "logspace_cpu" not implemented for 'Bool'
x.clamp_max_(c)  ->  RuntimeError: result type ComplexFloat can't be cast to the desired output type Float
x.bool().clamp(True)  ->  NotImplementedError: "clamp_min_scalar_cpu" not implemented for 'Bool'
x.bool().clamp_min(True)  ->  NotImplementedError: "clamp_min_scalar_cpu" not implemented for 'Bool'
(x.requires_grad_()*2).acosh_().sum().backward()  ->  NotImplementedError: the derivative for 'inplace version of acosh' is not implemented.
(x.requires_grad_()*2).arccosh_().sum().backward()  ->  NotImplementedError: the derivative for 'inplace version of acosh' is not implemented.
torch.func.grad(lambda t:(t*2).acosh_().sum())(x)  ->  NotImplementedError: the derivative for 'inplace version of acosh' is not implemented.
m.norm(m,x)  ->  TypeError: linalg_vector_norm(): argument 'ord' (position 2) must be Number, not Tensor
m.norm(2,(0,'a'))  ->  TypeError: linalg_vector_norm(): argument 'dim' failed to unpack the object at pos 2 with error "type must be tuple of ints,but got str"
m.int().norm(x)  ->  TypeError: linalg_vector_norm(): argument 'ord' (position 2) must be Number, not Tensor
x.norm(x,'a',3,4)  ->  TypeError: linalg_vector_norm(): argument 'ord' (position 2) must be Number, not Tensor
torch.norm(m,x,x,x,x,x)  ->  TypeError: linalg_vector_norm(): argument 'ord' (position 2) must be Number, not Tensor
torch.norm(m,x,x,x,x,x,x)  ->  TypeError: norm() takes from 1 to 6 positional arguments but 7 were given
torch.norm(m.int(),dtype=[x,x])  ->  TypeError: linalg_vector_norm(): argument 'dtype' must be torch.dtype, not list
torch.norm(m.bool(),2.0,dtype=[x,x])  ->  TypeError: linalg_vector_norm(): argument 'dtype' must be torch.dtype, not list
torch.meshgrid(x,torch.ones(1,1,2).double())  ->  RuntimeError: meshgrid expects all tensors to have the same dtype
torch.meshgrid(x,torch.ones(2,2)>2)  ->  RuntimeError: meshgrid expects all tensors to have the same dtype
x.clone().addr_(x,x)  ->  RuntimeError: 2D tensor expected, got 1D tensor for input
m.int().addr_(x,x[:1])  ->  RuntimeError: size mismatch, input: [2, 2], v1: [2], v2: [1]
m.int().addr_(x[:1],x)  ->  RuntimeError: size mismatch, input: [2, 2], v1: [1], v2: [2]
m.clone().addr_(x[:1],x.double())  ->  RuntimeError: size mismatch, input: [2, 2], v1: [1], v2: [2]
m.clone().addr_(x[:1],c)  ->  RuntimeError: size mismatch, input: [2, 2], v1: [1], v2: [2]
m.int().addr_(x.int(),x.int()[:1],beta=1.5)  ->  RuntimeError: size mismatch, input: [2, 2], v1: [2], v2: [1]
torch.tensor(1.).addr_(x,x)  ->  RuntimeError: 2D tensor expected, got 0D tensor for input
torch.ones(2,2,2).addr_(x,x)  ->  RuntimeError: 2D tensor expected, got 3D tensor for input
x.bool().clamp(False)  ->  NotImplementedError: "clamp_min_scalar_cpu" not implemented for 'Bool'
x.bool().clamp(max=True)  ->  NotImplementedError: "clamp_max_scalar_cpu" not implemented for 'Bool'
x.bool().clamp(True,True)  ->  NotImplementedError: "clamp_scalar_cpu" not implemented for 'Bool'
x.bool().clamp(x.bool(),x.bool())  ->  NotImplementedError: "clamp_cpu" not implemented for 'Bool'
x.bool().clamp_max(False)  ->  NotImplementedError: "clamp_max_scalar_cpu" not implemented for 'Bool'
x.bool().clamp_min_(True)  ->  NotImplementedError: "clamp_min_scalar_cpu" not implemented for 'Bool'
x.bool().clamp_(True)  ->  NotImplementedError: "clamp_min_scalar_cpu" not implemented for 'Bool'
x.bool().clamp_(max=True)  ->  NotImplementedError: "clamp_max_scalar_cpu" not implemented for 'Bool'
x.bool().clamp_(True,True)  ->  NotImplementedError: "clamp_scalar_cpu" not implemented for 'Bool'
x.bool().clip(True)  ->  NotImplementedError: "clamp_min_scalar_cpu" not implemented for 'Bool'
torch.clamp(x.bool(),True)  ->  NotImplementedError: "clamp_min_scalar_cpu" not implemented for 'Bool'
torch.clamp(x.bool(),True,out=x.bool())  ->  NotImplementedError: "clamp_min_scalar_cpu" not implemented for 'Bool'
torch.clamp(x[:0].bool(),True)  ->  NotImplementedError: "clamp_min_scalar_cpu" not implemented for 'Bool'
torch.ones(0).bool().clamp(True)  ->  NotImplementedError: "clamp_min_scalar_cpu" not implemented for 'Bool'
torch.ones(0).bool().clamp_min(True)  ->  NotImplementedError: "clamp_min_scalar_cpu" not implemented for 'Bool'
x.clamp_(c)  ->  RuntimeError: result type ComplexFloat can't be cast to the desired output type Float
x.clamp_(c,c)  ->  RuntimeError: result type ComplexFloat can't be cast to the desired output type Float
x.clamp_(x,c)  ->  RuntimeError: result type ComplexFloat can't be cast to the desired output type Float
x.clamp_min_(c)  ->  RuntimeError: result type ComplexFloat can't be cast to the desired output type Float
x.int().clamp_max_(c)  ->  RuntimeError: result type ComplexFloat can't be cast to the desired output type Int
x.clamp_max_(torch.tensor(1j))  ->  RuntimeError: result type ComplexFloat can't be cast to the desired output type Float
x.clamp_max_(torch.tensor(1j).requires_grad_())  ->  RuntimeError: result type ComplexFloat can't be cast to the desired output type Float
torch.logspace(1j,2,3,dtype=torch.float32)  ->  RuntimeError: torch.logspace(): inferred dtype c10::complex<float> can't be safely cast to passed dtype Float
torch.logspace(1,2j,3,dtype=torch.int64)  ->  RuntimeError: torch.logspace(): inferred dtype c10::complex<float> can't be safely cast to passed dtype Long
torch.linspace(1,2j,3,dtype=torch.int64)  ->  RuntimeError: torch.linspace(): inferred dtype c10::complex<float> can't be safely cast to passed dtype Long
torch.linspace(1,2j,3,dtype=torch.float16)  ->  RuntimeError: torch.linspace(): inferred dtype c10::complex<float> can't be safely cast to passed dtype Half
torch.linspace(torch.tensor(1j),2,3,dtype=torch.float32)  ->  RuntimeError: torch.linspace(): inferred dtype c10::complex<float> can't be safely cast to passed dtype Float
torch.range(1j,3)  ->  RuntimeError: value cannot be converted to type double without overflow
torch.linspace(1,2,3,dtype=torch.float8_e4m3fn)  ->  NotImplementedError: "linspace_cpu" not implemented for 'Float8_e4m3fn'
torch.linspace(1,2,3,dtype=torch.uint16)  ->  NotImplementedError: "linspace_cpu" not implemented for 'UInt16'
torch.logspace(1,2,3,dtype=torch.uint16)  ->  NotImplementedError: "logspace_cpu" not implemented for 'UInt16'
torch.eye(2,dtype=torch.uint16)  ->  NotImplementedError: "eye" not implemented for 'UInt16'
torch.range(1,2,dtype=torch.uint16)  ->  NotImplementedError: "range_cpu" not implemented for 'UInt16'
torch.nn.functional.embedding_bag(torch.tensor([0,1]),m[:0],torch.tensor([0,1]),padding_idx=1)  ->  RuntimeError: padding_idx must be within the number of embeddings, -0 through -1, but got 1
torch.embedding_bag(m[:0],torch.tensor([0,1]),torch.tensor([0,1]),True,0,True,None,True,1)  ->  RuntimeError: padding_idx must be within the number of embeddings, -0 through -1, but got 1
torch.embedding_bag(torch.ones(0,0),torch.tensor([0,1,2]),torch.tensor([0,1]),True,0,True,None,True,1)  ->  RuntimeError: padding_idx must be within the number of embeddings, -0 through -1, but got 1
torch.embedding_bag(m,torch.tensor([0,7]),torch.tensor([0,1]),True,0,True,None,True,7)  ->  RuntimeError: padding_idx must be within the number of embeddings, -2 through 1, but got 7
torch.embedding_bag(m,torch.tensor([0,1]),torch.tensor([0,1]),False,1,False,x)  ->  RuntimeError: embedding_bag: per_sample_weights only supported with mode='sum'
(x.requires_grad_()*2).asinh_().sum().backward()  ->  NotImplementedError: the derivative for 'inplace version of asinh' is not implemented.
(x.requires_grad_()*.2).atanh_().sum().backward()  ->  NotImplementedError: the derivative for 'inplace version of atanh' is not implemented.
torch.autograd.gradcheck(lambda t:(t*2).acosh_(), x.double().requires_grad_())  ->  NotImplementedError: the derivative for 'inplace version of acosh' is not implemented.
torch.func.grad(lambda t:(t*.2).asinh_())(x[0])  ->  NotImplementedError: the derivative for 'inplace version of asinh' is not implemented.
torch.range(1,3j)  ->  RuntimeError: value cannot be converted to type double without overflow
torch.range(1,3,1j)  ->  RuntimeError: value cannot be converted to type double without overflow
torch.range(1j,3j,1j)  ->  RuntimeError: value cannot be converted to type double without overflow
torch.eye(2,dtype=torch.uint32)  ->  NotImplementedError: "eye" not implemented for 'UInt32'
torch.eye(0,dtype=torch.uint16)  ->  NotImplementedError: "eye" not implemented for 'UInt16'
torch.logspace(1,2,3,dtype=torch.uint64)  ->  NotImplementedError: "logspace_cpu" not implemented for 'UInt64'
torch.range(1,2,dtype=torch.float8_e5m2)  ->  NotImplementedError: "range_cpu" not implemented for 'Float8_e5m2'
torch.linspace(1,2,3,out=torch.empty(3,dtype=torch.uint16))  ->  NotImplementedError: "linspace_cpu" not implemented for 'UInt16'
torch.linspace(c[0],2,3,dtype=torch.int64)  ->  RuntimeError: torch.linspace(): inferred dtype c10::complex<float> can't be safely cast to passed dtype Long
torch.linspace(1j,2,3,dtype=torch.bool)  ->  RuntimeError: torch.linspace(): inferred dtype c10::complex<float> can't be safely cast to passed dtype Bool
torch.sspaddmm(m.int().to_sparse(),m.to_sparse(),m)  ->  RuntimeError: dtype of values (Float) must match dtype of sparse tensor (Int)
torch.sspaddmm(m[:1].to_sparse(),m.to_sparse(),m)  ->  RuntimeError: sspaddmm: Argument #1: Expected dim 0 size 2, got 1
torch.sspaddmm(m.to_sparse(),m.to_sparse(),x)  ->  RuntimeError: sspaddmm: Argument #3: matrices expected, got 1D tensor
torch.sspaddmm(m.to_sparse(),x.to_sparse(),m)  ->  RuntimeError: sspaddmm: Argument #2: matrices expected, got 1D tensor
torch.sspaddmm(x.to_sparse(),m.to_sparse(),m)  ->  IndexError: Dimension out of range (expected to be in range of [-1, 0], but got 1)
torch.sspaddmm(m.to_sparse(),m.to_sparse(),m.to_sparse())  ->  RuntimeError: sspaddmm: expected 'mat2' to have strided layout, got 'mat2' with layout Sparse
torch.sspaddmm(m.to_sparse(),m,m.to_sparse())  ->  RuntimeError: sspaddmm: expected 'mat1' to have sparse layout, got 'mat1' with layout Strided
torch.sspaddmm(m,m,m.to_sparse())  ->  RuntimeError: sspaddmm: expected 'mat1' to have sparse layout, got 'mat1' with layout Strided
torch.sspaddmm(m,m.to_sparse(),m.to_sparse())  ->  RuntimeError: sspaddmm: expected 'mat2' to have strided layout, got 'mat2' with layout Sparse
torch.smm(m.to_sparse(),m.to_sparse())  ->  RuntimeError: sspaddmm: expected 'mat2' to have strided layout, got 'mat2' with layout Sparse
torch.smm(m.to_sparse(),m[:1])  ->  RuntimeError: sspaddmm: Argument #3: Expected dim 0 size 2, got 1
torch.smm(m.to_sparse(),x)  ->  RuntimeError: sspaddmm: Argument #3: matrices expected, got 1D tensor
torch.smm(x.to_sparse(),m)  ->  RuntimeError: sspaddmm: Argument #2: matrices expected, got 1D tensor
torch.smm(m,m.to_sparse())  ->  RuntimeError: sspaddmm: expected 'mat1' to have sparse layout, got 'mat1' with layout Strided
torch.saddmm(m.to_sparse(),m,m)  ->  RuntimeError: sspaddmm: expected 'mat1' to have sparse layout, got 'mat1' with layout Strided
torch.meshgrid(x,x.double())  ->  RuntimeError: meshgrid expects all tensors to have the same dtype
torch.meshgrid(x,x.to('meta'))  ->  RuntimeError: meshgrid expects all tensors to have the same device
torch.meshgrid(x[0],x.double()[0])  ->  RuntimeError: meshgrid expects all tensors to have the same dtype
torch.meshgrid(x,m.double(),indexing='xy')  ->  RuntimeError: meshgrid expects all tensors to have the same dtype
torch.meshgrid(x.double(),x,m.double(),indexing='xy')  ->  RuntimeError: meshgrid expects all tensors to have the same dtype
torch.norm(m,2,0,False,m.sum(0),torch.float64)  ->  RuntimeError: Expected out tensor to have dtype double, but got float instead
torch.norm(m,2,0,False,torch.float64)  ->  TypeError: linalg_vector_norm(): argument 'out' must be Tensor, not torch.dtype
torch.norm(m,2,0,False,None,3)  ->  TypeError: linalg_vector_norm(): argument 'dtype' must be torch.dtype, not int
torch.norm(m,2,0,False,3)  ->  TypeError: linalg_vector_norm(): argument 'out' must be Tensor, not int
m.norm('fro',__import__('numpy').int64(1))  ->  TypeError: object of type 'numpy.int64' has no len()
m.norm('fro',torch.tensor(1))  ->  TypeError: len() of a 0-d tensor
torch.ones(2,2,2).norm('fro',(0,1,2))  ->  RuntimeError: linalg.matrix_norm: dim must be a 2-tuple. Got 0 1 2
torch.ones(2,2,2).norm('nuc')  ->  RuntimeError: linalg.matrix_norm: dim must be a 2-tuple. Got 0 1 2
torch.norm(m,'nuc',(0,1),out=torch.empty((),dtype=torch.float64))  ->  RuntimeError: linalg.matrix_norm expected out tensor dtype Float but got: Double
m.to_sparse().norm(x)  ->  TypeError: norm(): argument 'p' (position 2) must be Number, not Tensor
m.to_sparse().norm(dtype=torch.float64)  ->  ValueError: dtype argument is not supported in frobenius norm
torch.linalg.matrix_norm(x,'a')  ->  RuntimeError: linalg.matrix_norm: Order a not supported.
torch.linalg.matrix_norm(m.int(),'a')  ->  RuntimeError: linalg.matrix_norm: Order a not supported.
torch.linalg.norm(m.int(),'a')  ->  RuntimeError: linalg.matrix_norm: Order a not supported.
torch.linalg.norm(m,'a',0)  ->  RuntimeError: linalg.matrix_norm: Order a not supported.
torch.linalg.norm(x,'a')  ->  RuntimeError: linalg.matrix_norm: Order a not supported.
torch.linalg.matrix_norm(m,7,(0,))  ->  RuntimeError: linalg.matrix_norm: Order 7 not supported.
torch.linalg.matrix_norm(m.int(),7,(0,))  ->  RuntimeError: linalg.matrix_norm: Order 7 not supported.
torch.linalg.matrix_norm(x,7,(0,))  ->  RuntimeError: linalg.matrix_norm: Order 7 not supported.
torch.linalg.matrix_norm(m,7,(0,5))  ->  RuntimeError: linalg.matrix_norm: Order 7 not supported.
torch.linalg.matrix_norm(m,1j)  ->  RuntimeError: linalg.matrix_norm: Expected a non-complex scalar as the order of norm.
m.to_sparse().norm('nuc',dtype=torch.float64)  ->  ValueError: dtype argument is not supported in nuclear norm
m.to_sparse().norm('a')  ->  RuntimeError: only valid string values are 'fro' and 'nuc', found a
m.to_sparse().norm([2])  ->  TypeError: norm(): argument 'p' (position 2) must be Number, not list
torch.nn.functional.binary_cross_entropy_with_logits(torch.int64,x)  ->  AttributeError: 'torch.dtype' object has no attribute 'size'
torch.nn.functional.glu(torch.strided)  ->  AttributeError: 'torch.layout' object has no attribute 'dim'
torch.nanquantile(torch.ones(0),0.5)  ->  RuntimeError: quantile() input tensor must be non-empty
torch.nanquantile(torch.ones(0),torch.ones(0,0))  ->  RuntimeError: quantile() input tensor must be non-empty
torch.quantile(torch.ones(0),torch.ones(0,0))  ->  RuntimeError: quantile() input tensor must be non-empty
torch.quantile(torch.ones(0),.5,3)  ->  RuntimeError: quantile() input tensor must be non-empty
torch.nanquantile(torch.ones(3),.5,interpolation='a')  ->  RuntimeError: quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got a
torch.nanquantile(torch.ones(3),torch.tensor([2.]))  ->  RuntimeError: quantile() q values must be in the range [0, 1]
torch.ones(0,3).float_power_(torch.ones(2,3).double())  ->  RuntimeError: the base given to float_power_ has dtype Float but the operation's result requires dtype Double
torch.linalg.matrix_rank(torch.ones(2,3,4,5),torch.ones(4))  ->  RuntimeError: The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1
torch.linalg.matrix_rank(torch.ones(2,3,4,5),atol=torch.ones(4))  ->  RuntimeError: The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1
torch.linalg.matrix_rank(torch.ones(2,3,4,5),rtol=torch.ones(4))  ->  RuntimeError: The size of tensor a (4) must match the size of tensor b (3) at non-singleton dimension 1
torch.special.laguerre_polynomial_l(c,torch.ones(3))  ->  RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0
torch.special.chebyshev_polynomial_t(c,torch.ones(3))  ->  RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0
torch.special.zeta(c,torch.ones(3))  ->  RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0
torch.cumulative_trapezoid(torch.tensor(1.),m)  ->  IndexError: slice() cannot be applied to a 0-dim tensor.
torch.cumulative_trapezoid(torch.tensor(1.))  ->  IndexError: slice() cannot be applied to a 0-dim tensor.
torch.searchsorted(x,2j)  ->  NotImplementedError: "searchsorted_out_cpu" not implemented for 'ComplexFloat'
torch.searchsorted(x.int(),2j)  ->  NotImplementedError: "searchsorted_out_cpu" not implemented for 'ComplexFloat'
torch.bucketize(2j,x)  ->  NotImplementedError: "searchsorted_out_cpu" not implemented for 'ComplexFloat'
torch.bucketize(2j,x.int())  ->  NotImplementedError: "searchsorted_out_cpu" not implemented for 'ComplexFloat'
x.masked_scatter(x,torch.ones(2).double())  ->  RuntimeError: masked_scatter: expected self and source to have same dtypes but gotFloat and Double
torch.meshgrid([x,x],indexing=x)  ->  TypeError: meshgrid(): argument 'indexing' must be str, not Tensor
torch.meshgrid([x,x],indexing=2)  ->  TypeError: meshgrid(): argument 'indexing' must be str, not int
torch.fft.ihfft2(c.repeat(2,1))  ->  RuntimeError: Only supports floating-point dtypes, but found: ComplexFloat
torch.fft.ihfftn(c.repeat(2,1))  ->  RuntimeError: Only supports floating-point dtypes, but found: ComplexFloat
torch.margin_ranking_loss(torch.ones(3),torch.ones(3,3),torch.ones(2,2))  ->  RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1
x.bool().clip_(min=m)  ->  RuntimeError: output with shape [2] doesn't match the broadcast shape [2, 2]
x.bool().clamp_(m)  ->  RuntimeError: output with shape [2] doesn't match the broadcast shape [2, 2]
x.bool().clamp_(m,m)  ->  RuntimeError: output with shape [2] doesn't match the broadcast shape [2, 2]
x.int().clamp_max_(m)  ->  RuntimeError: output with shape [2] doesn't match the broadcast shape [2, 2]
x.int().clamp_max_(torch.ones(3))  ->  RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 0
x.bool().clamp_(x,m)  ->  RuntimeError: output with shape [2] doesn't match the broadcast shape [2, 2]
x.int().to_mkldnn()  ->  RuntimeError: dense_to_mkldnn expects float, bfloat16, half, uint8, int8 tensor input
c.to_mkldnn()  ->  RuntimeError: dense_to_mkldnn expects float, bfloat16, half, uint8, int8 tensor input
x.double().to_mkldnn()  ->  RuntimeError: dense_to_mkldnn expects float, bfloat16, half, uint8, int8 tensor input
x.bool().to_mkldnn()  ->  RuntimeError: dense_to_mkldnn expects float, bfloat16, half, uint8, int8 tensor input
m.to_sparse_bsr((1,1),1)  ->  IndexError: Dimension out of range (expected to be in range of [-2, 1], but got -3)
m.to_sparse_bsc((1,1),dense_dim=1)  ->  IndexError: Dimension out of range (expected to be in range of [-2, 1], but got -3)
m.to_sparse_bsc((1,1),dense_dim=2)  ->  IndexError: Dimension out of range (expected to be in range of [-2, 1], but got -4)
torch.ones(2,2,2).to_sparse_bsc((1,1),dense_dim=2)  ->  IndexError: Dimension out of range (expected to be in range of [-3, 2], but got -4)
torch.meshgrid(torch.zeros(0,3))  ->  RuntimeError: torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: [ torch.FloatTensor{0,3} ]
torch.linalg.ldl_solve(torch.ones(2,2,3,3),torch.ones(3,dtype=torch.int32),torch.tensor(1))  ->  RuntimeError: Expected b and A to have the same dtype, but found b of type Long and A of type Float instead.
torch.linalg.ldl_solve(torch.ones(3,3),torch.ones(3,dtype=torch.int32),torch.ones(3).double())  ->  RuntimeError: Expected b and A to have the same dtype, but found b of type Double and A of type Float instead.
torch.linalg.ldl_solve(torch.ones(3,3),torch.ones(2,dtype=torch.int32),torch.ones(3,1).double())  ->  RuntimeError: Expected b and A to have the same dtype, but found b of type Double and A of type Float instead.
torch.linalg.ldl_solve(torch.ones(3,3),torch.ones(3),torch.ones(3,1).double())  ->  RuntimeError: Expected b and A to have the same dtype, but found b of type Double and A of type Float instead.
torch.nn.functional.adaptive_avg_pool3d(torch.ones(1,3,4,4,4),m)  ->  TypeError: adaptive_avg_pool3d(): argument 'output_size' (position 2) must be tuple of ints, but found element of type Tensor at pos 0
torch.nn.functional.adaptive_avg_pool2d(torch.ones(1,4,4),x)  ->  TypeError: adaptive_avg_pool2d(): argument 'output_size' (position 2) must be tuple of ints, but found element of type Tensor at pos 0
torch.nn.functional.adaptive_avg_pool2d(torch.ones(1,4,4),torch.ones(1,1))  ->  TypeError: adaptive_avg_pool2d(): argument 'output_size' (position 2) must be tuple of ints, but found element of type Tensor at pos 0
torch.nn.functional.adaptive_max_pool2d(torch.ones(1,4,4),x)  ->  TypeError: adaptive_max_pool2d(): argument 'output_size' (position 2) must be tuple of ints, but found element of type Tensor at pos 0
torch.nn.functional.adaptive_max_pool2d(torch.ones(1,4,4),torch.ones(1,1))  ->  TypeError: adaptive_max_pool2d(): argument 'output_size' (position 2) must be tuple of ints, but found element of type Tensor at pos 0
torch.nn.functional.adaptive_max_pool3d(torch.ones(3),True)  ->  TypeError: adaptive_max_pool3d(): argument 'output_size' (position 2) must be tuple of ints, not bool
torch.nn.functional.adaptive_max_pool2d(torch.ones(3),True)  ->  TypeError: adaptive_max_pool2d(): argument 'output_size' (position 2) must be tuple of ints, not bool
torch.nn.functional.adaptive_avg_pool2d(torch.ones(3),True)  ->  TypeError: adaptive_avg_pool2d(): argument 'output_size' (position 2) must be tuple of ints, not bool
torch.nn.functional.adaptive_avg_pool2d(torch.ones(1,4,4),True)  ->  TypeError: adaptive_avg_pool2d(): argument 'output_size' (position 2) must be tuple of ints, not bool
torch.nn.functional.adaptive_avg_pool2d(torch.ones(1,4,4),[True,2])  ->  TypeError: adaptive_avg_pool2d(): argument 'output_size' (position 2) must be tuple of ints, but found element of type bool at pos 0
torch.nn.functional.adaptive_avg_pool2d(torch.ones(1,4,4),[x,2])  ->  TypeError: adaptive_avg_pool2d(): argument 'output_size' (position 2) must be tuple of ints, but found element of type Tensor at pos 0
torch.nn.functional.adaptive_avg_pool2d(torch.ones(1,4,4),[x[0],2])  ->  TypeError: adaptive_avg_pool2d(): argument 'output_size' (position 2) must be tuple of ints, but found element of type Tensor at pos 0
torch.linalg.ldl_solve(torch.ones(3,3),torch.ones(3,dtype=torch.int32),torch.tensor(1.))  ->  IndexError: Dimension specified as -2 but tensor has no dimensions
torch.linalg.ldl_solve(torch.ones(3,3),torch.ones(3,dtype=torch.int32),torch.ones(3))  ->  IndexError: Dimension out of range (expected to be in range of [-1, 0], but got -2)
torch.linalg.ldl_solve(torch.ones(3,3),torch.ones(3),torch.ones(2,1))  ->  RuntimeError: Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is 3 by 3 but each b matrix is 2 by 1
torch.linalg.ldl_solve(torch.ones(3,3),torch.ones(2,dtype=torch.int32),torch.ones(2,1))  ->  RuntimeError: Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is 3 by 3 but each b matrix is 2 by 1
""".strip().splitlines()


@pytest.mark.parametrize("line", CALLS)
def test_words(line):
    call, _, words = line.partition("  ->  ")
    names = {
        "torch": pellucid,
        "x": pellucid.tensor([1.0, 2.0]),
        "c": pellucid.tensor([1 + 1j, 2]),
        "m": pellucid.ones(2, 2),
    }
    with warnings.catch_warnings(action="ignore"), pytest.raises(Exception) as refused:
        eval(call, names)
    assert f"{type(refused.value).__name__}: {refused.value}" == words


def test_words_of_a_call_that_is_made_often():
    m = pellucid.ones(2, 2)
    words = []
    for _ in range(2):
        with pytest.raises(TypeError) as refused:
            m.norm(2, (0, "a"))
        words.append(str(refused.value))
        for _ in range(500):
            m.norm(2, (0, 1))
    assert words[0] == words[1] and "failed to unpack the object at pos 2" in words[0]
