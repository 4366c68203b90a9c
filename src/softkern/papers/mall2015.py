"""To come."""

CHECKS = ()
