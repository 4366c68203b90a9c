"""Groups in many columns: proposed by mixtures, accepted where a valley lies between them."""
