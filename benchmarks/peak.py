"""Peak memory as in the tests: `tests/peak.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.peak import high_water, measure

__all__ = ["high_water", "measure"]
