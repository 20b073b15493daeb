"""PL6xx: NaN, gradients that vanish or explode, units that never answer, losses at chance."""
