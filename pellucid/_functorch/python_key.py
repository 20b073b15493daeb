"""`make_fx` under the name that `functorch` takes it from."""

from ..fx.experimental.proxy_tensor import make_fx as make_fx

__all__ = ["make_fx"]
