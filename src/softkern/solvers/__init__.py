"""What runs rules to their end: the one loop, the one-class dual, the eigenproblem, the starts."""
