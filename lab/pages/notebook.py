"""Executes docs/notebook.ipynb and stores what its cells show, so that a reader sees it without a run."""

from __future__ import annotations

from typing import Any

import nbformat
from nbclient import NotebookClient

from pagewalk.paths import home

_SECONDS = 1700


def main() -> None:
    """Writes the notebook with its outputs. An error of a cell ends it."""
    path = home().root / "docs" / "notebook.ipynb"
    read: Any = nbformat.read
    notebook = read(path, as_version=4)
    NotebookClient(notebook, timeout=_SECONDS, kernel_name="python3").execute()
    for cell in notebook.cells:
        # When a cell ran says nothing of what it shows.
        cell.metadata.pop("execution", None)
    write: Any = nbformat.write
    write(notebook, path)


if __name__ == "__main__":
    main()
