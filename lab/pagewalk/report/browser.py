"""Runs a headless browser to check and photograph the page."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from pagewalk import writing
from pagewalk.errors import BadInput

_SECONDS = 600


def run(page: Path, *arguments: str, fragment: str = "") -> str:
    """Opens the page in Chromium and returns its output; BadInput if there is no browser or it fails."""
    browser = shutil.which("chromium")
    if browser is None:
        raise BadInput("Chromium is not installed", hint="./bootstrap test installs it")
    # The page is our own file, so it needs no sandbox; Chromium's does not work as root.
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        *arguments,
        page.resolve().as_uri() + (f"#{fragment}" if fragment else ""),
    ]
    # A home that is empty: Chromium does not start where the user's cannot be written.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        environment = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS, env=environment)
    if done.returncode != 0:
        raise BadInput(
            f"{browser} failed on {page}", hint=done.stderr.strip().splitlines()[-1] if done.stderr else None
        )
    return done.stdout


def photograph(page: Path, picture: Path, *, width: int = 1080, height: int = 1500) -> None:
    """Writes the page's first `height` pixels as PNG."""
    with writing.replacing(picture) as file:
        run(page, f"--window-size={width},{height}", f"--screenshot={file.resolve()}")
        # Chromium says nothing of a picture that it cannot write.
        if file.is_file() and file.stat().st_size == 0:
            raise BadInput(f"{picture}: Chromium could not write it")
