"""A hook of mkdocs: links from a page to a file of the checkout that is not a page.

On the site, a linked source file is a text file under `source/`; a page outside of `docs/` has a place of its own.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = {
    "user/bench/README.md": "reference/benchmarks.md",
    "README.md": "install.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
}
"""Pages of the checkout outside of `docs/`, and where the site has them."""
_FENCE = re.compile(r"^(```\w+) file=(\S+)$", re.MULTILINE)
"""A block that is a file's content; mkdocs shows the name as a title."""
_LINK = re.compile(r"(?<=\]\()(?P<path>[^()\s:#]+)(?P<anchor>#[^()\s]*)?(?=\))")


def target(page: str, path: str) -> str | None:
    """Where a link of a page leads on the site; None for a link that stays as it is.

    `page` and the result are paths below `docs/`, `path` is the link as written.
    """
    inside = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), path))
    if inside.startswith("docs/") or not (ROOT / inside).is_file():
        return None
    return PAGES.get(inside, f"source/{inside}.txt")


def rewrite(markdown: str, page: str) -> str:
    """The page's text as the site needs it: each link out of `docs/` leads to its place on the site."""

    def replaced(link: re.Match[str]) -> str:
        found = target(page, link["path"])
        if found is None:
            return link[0]
        return posixpath.relpath(found, posixpath.dirname(page) or ".") + (link["anchor"] or "")

    return _FENCE.sub(r'\1 title="\2"', _LINK.sub(replaced, markdown))


def _sources(files: Files) -> Iterator[str]:
    """The source files that pages link to, as paths of the checkout."""
    for file in files.documentation_pages():
        for link in _LINK.finditer(file.content_string):
            found = target(file.src_uri, link["path"])
            if found is not None and found.startswith("source/"):
                yield found.removeprefix("source/").removesuffix(".txt")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds the source files that pages link to."""
    for path in sorted(set(_sources(files))):
        content = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, f"source/{path}.txt", content=content))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrites a page's links."""
    del config, files
    return rewrite(markdown, page.file.src_uri)
