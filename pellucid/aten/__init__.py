"""The level of PyTorch's dispatcher: operators by their schemas (`torch.ops`), and who takes them
over.

`schema` knows the signatures, `overload` the objects that programs hold
(`torch.ops.aten.add.Tensor`), `kernels` what computes them.
"""
