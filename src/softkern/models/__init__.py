"""The estimators: thin classes over kernels, operators, rules and the loop."""
