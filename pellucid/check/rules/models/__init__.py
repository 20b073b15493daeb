"""PL5xx: parameters that are unused, frozen, replaced, shared or loaded in part; layers without effect."""
