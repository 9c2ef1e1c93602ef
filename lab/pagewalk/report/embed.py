"""What a page without network embeds: Vega-Lite, and scripts and data as text of the page."""

from __future__ import annotations

import json
from typing import Any

import vl_convert
from markupsafe import Markup

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
    return script(f"(function(){{{vl_convert.javascript_bundle(_TAKEN)}}})();")
