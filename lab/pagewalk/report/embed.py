"""What a page without network embeds: Vega-Lite, and scripts and data as text of the page."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

from pagewalk.errors import NotBuilt
from pagewalk.paths import PACKAGED

_TAKEN = "window.vegaEmbed = vegaEmbed;"
"""What the page takes from the library."""


def script(text: str) -> Markup:
    """Text within a script element, which must not hold the element's end."""
    return Markup(text.replace("</script", "<\\/script").replace("<!--", "<\\!--"))


def data(value: Any) -> Markup:
    """JSON within a script element."""
    return Markup(json.dumps(value, separators=(",", ":")).replace("<", "\\u003c"))


def vega() -> Markup:
    """The library, which gives the page `window.vegaEmbed`."""
    # In a function of its own: its names are not the page's.
    return script(f"(function(){{{library()}}})();")


def library() -> str:
    """The library's text: the wheel has it, and a checkout the package that makes it."""
    if (kept := PACKAGED / "vega.js").is_file():
        return kept.read_text(encoding="utf-8")
    try:
        import vl_convert  # noqa: PLC0415 - an extra
    except ImportError:
        raise NotBuilt("the library of a page's plots is not here", hint="pip install vl-convert-python") from None
    return str(vl_convert.javascript_bundle(_TAKEN))
