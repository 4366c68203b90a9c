"""Reruns the five papers behind the models: every table, figure and claim is a check.

Run ``python -m reproduce --help`` from the repository root. This folder is not installed. It uses
softkern the way users do. A paper is a module (or a folder) with a tuple ``CHECKS``; `registry`
lists the papers, `running` runs checks and stores their results, and `pages` writes the Markdown
pages of ``docs/papers``.
"""
