"""The level of PyTorch's dispatcher: operators with schemas (`torch.ops`), and the modes and
tensor types that intercept them.

`schema` has the signatures, `overload` the objects that programs use
(`torch.ops.aten.add.Tensor`), `kernels` the implementations.
"""
