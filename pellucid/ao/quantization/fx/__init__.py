"""`torch.ao.quantization.fx`: operators of quantized programs, which its module `_decomposed`
defines.
"""
