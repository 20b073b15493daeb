"""Channel shuffle as a layer."""

from .pixelshuffle import ChannelShuffle as ChannelShuffle

__all__ = ["ChannelShuffle"]
