"""The colours of clusters, the same in every picture."""

__all__ = ["COLOURS", "CUT", "NEUTRAL", "SCALE"]

# Okabe and Ito's colours, distinct to readers of any colour vision, without yellow and black.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
CUT = "#D55E00"  # the alpha cut
NEUTRAL = "#8a8a8a"  # noise and what is left out: as clear on white as on black


def _between(first: str, second: str, steps: int) -> list[str]:
    """Colours from one to just before the other."""
    ends = [[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in (first, second)]
    mixed = [
        [round(a + (b - a) * step / steps) for a, b in zip(*ends, strict=True)]
        for step in range(steps)
    ]
    return ["#" + "".join(f"{part:02x}" for part in colour) for colour in mixed]


# From low to high: lighter and from blue to orange, so that any colour vision orders it, and as
# clear on white as on black.
_STOPS = ("#3f63c8", "#1f9e9c", "#7fb955", "#f0a31c")
SCALE = (
    *(c for k in range(3) for c in _between(_STOPS[k], _STOPS[k + 1], 16)),
    _STOPS[-1],
)
