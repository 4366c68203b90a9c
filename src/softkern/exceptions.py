"""What users may catch: the package's own warnings and errors."""

from __future__ import annotations

__all__ = ["CollapseWarning"]


class CollapseWarning(UserWarning):
    """Centres coincide, or memberships have become equal: there are fewer clusters than asked."""
