"""Self-contained HTML reports (design.md, sections 3 and 7): executed notebooks, and an index of headline numbers."""

from selfevolve.report.render import render

__all__ = ["render"]
