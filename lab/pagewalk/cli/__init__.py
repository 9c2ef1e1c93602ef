"""The `pagewalk` command."""

from __future__ import annotations

from pagewalk.cli.app import main

__all__ = ["main"]
