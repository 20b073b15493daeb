"""`torch._inductor.runtime`, as far as libraries use it."""
