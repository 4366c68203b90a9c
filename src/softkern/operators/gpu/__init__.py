"""Kernel products on a GPU with torch and Triton, imported only when used."""
