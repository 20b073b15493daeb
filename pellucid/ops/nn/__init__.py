"""Operations of layers: convolution, norms, attention, losses."""
