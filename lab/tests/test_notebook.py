"""docs/notebook.ipynb, executed as a reader would."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from pagewalk.paths import home

pytestmark = pytest.mark.built


def test_the_notebook_executes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGEWALK_RESULTS", str(tmp_path / "results.duckdb"))
    monkeypatch.setenv("PAGEWALK_HOME", str(home().root))
    read: Any = nbformat.read
    notebook = read(home().root / "docs" / "notebook.ipynb", as_version=4)
    NotebookClient(notebook, timeout=1700, kernel_name="python3").execute()
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    assert "ppc604-185" in outputs[0][0]["data"]["text/plain"]
    assert "mmap latency" in outputs[1][0]["data"]["text/plain"]
