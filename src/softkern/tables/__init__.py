"""The application for tables: preparation, explanations, comparison, report, files and commands."""
