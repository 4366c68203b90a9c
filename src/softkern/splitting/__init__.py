"""Clusters in many columns: proposed by mixtures, accepted where a density gap separates them."""
