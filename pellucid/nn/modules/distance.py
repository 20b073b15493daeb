"""Distances as layers."""

from .loss import CosineSimilarity as CosineSimilarity
from .loss import PairwiseDistance as PairwiseDistance
