"""A page in a frame of a given width: a headless browser's window is never narrower than 500 pixels."""

from pathlib import Path


def framed(page: Path, source: str, size: tuple[int, int], told: str) -> Path:
    """A page beside `page` that shows `source` in a frame of `size` pixels (width, height).

    Its title is what the script `told` says of the document `d` in the frame: each half second anew, so that a slow
    computer's last title is that of the whole page.
    """
    width, height = size
    frame = page.with_name("frame.html")
    frame.write_text(
        f'<iframe id="f" src="{source}" style="width:{width}px;height:{height}px;border:0"></iframe><script>'
        "setInterval(() => { const d = document.getElementById('f').contentDocument;"
        f" document.title = {told}; }}, 500);</script>"
    )
    return frame
