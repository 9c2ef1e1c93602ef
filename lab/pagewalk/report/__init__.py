"""One self-contained HTML page of all results: tables with their published figures, and plots."""

from __future__ import annotations

from pagewalk.report.page import build

__all__ = ["build"]
