"""Questions about Triton, which is not used: there is no device for it."""


def has_triton_package() -> bool:
    """False."""
    return False


def has_triton() -> bool:
    """False."""
    return False
