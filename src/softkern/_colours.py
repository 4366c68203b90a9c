"""The colours of clusters, the same in every picture."""

__all__ = ["COLOURS", "CUT", "NEUTRAL"]

# Okabe and Ito's colours, distinct to readers of any colour vision, without yellow and black.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
CUT = "#D55E00"  # the alpha cut
NEUTRAL = "#8a8a8a"  # noise and what is left out: as clear on white as on black
