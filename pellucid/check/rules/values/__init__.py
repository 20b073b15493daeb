"""PL6xx: NaN, gradients that vanish or explode, dead units, losses at chance."""
