"""The colors of clusters, the same in every picture."""

# Okabe and Ito's colors, distinct to readers of any color vision, without yellow and black.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
CUT = "#D55E00"  # the alpha cut
NEUTRAL = "#8a8a8a"  # noise and excluded samples: as clear on white as on black


def _between(first: str, second: str, steps: int) -> list[str]:
    """Colors from one to just before the other."""
    ends = list(zip(bytes.fromhex(first[1:]), bytes.fromhex(second[1:]), strict=True))
    mixed = ([round(a + (b - a) * step / steps) for a, b in ends] for step in range(steps))
    return [f"#{bytes(color).hex()}" for color in mixed]


# From low to high: lighter and from blue to orange, so that any color vision orders it, and as
# clear on white as on black.
_STOPS = ("#3f63c8", "#1f9e9c", "#7fb955", "#f0a31c")
SCALE = (*(c for k in range(3) for c in _between(_STOPS[k], _STOPS[k + 1], 16)), _STOPS[-1])
