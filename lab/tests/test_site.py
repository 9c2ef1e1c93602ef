"""The documentation's site: built without network, every link leads somewhere; CITATION.cff can be read."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from framed import framed

from pagewalk import __version__, claims, experiments, machines, policies
from pagewalk.cli.app import whole
from pagewalk.paths import home
from pagewalk.report import browser

pytestmark = pytest.mark.built

OFFLINE = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"),
    "NO_MKDOCS_2_WARNING": "1",
    "DISABLE_MKDOCS_2_WARNING": "true",
}


class Page(HTMLParser):
    """A page of the site: what it links to, what it loads, and what can be linked to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.names: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.names.update(found[name] for name in ("id", "name") if name in found)
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in ("script", "img") and "src" in found:
            self.loaded.append(found["src"])
        elif tag == "link" and found.get("rel") in ("stylesheet", "icon"):
            self.loaded.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=home().root, env={**os.environ, **OFFLINE}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Page]) -> None:
    loaded = {name for page in pages.values() for name in page.loaded}
    assert loaded
    assert [name for name in loaded if urlsplit(name).netloc] == []


def test_every_link_leads_somewhere(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in (*page.links, *page.loaded):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            lost = anchor and target in pages and anchor not in pages[target].names and anchor != "__codelineno"
            if not target.is_file() or lost:
                broken.append(f"{path.name}: {link}")
    assert broken == []


def text(site: Path, page: str) -> str:
    return re.sub(r"<[^>]+>", "", (site / "reference" / page).read_text(encoding="utf-8"))


def test_the_reference_has_everything(site: Path) -> None:
    commands = [info.name or getattr(info.callback, "__name__", "") for info in whole().registered_commands]
    shown = text(site, "command.html")
    assert [name for name in commands if f"pagewalk {name}" not in shown] == []
    shown = text(site, "machine-keys.html")
    assert [key for name in machines.names() for key in machines.keys(name)[1:] if key not in shown] == []
    assert "Bytes of RAM at physical address 0" in shown
    assert all(key in shown for key in ("tlb.data.replacement", "tlb.l2.entries", "walk.walker"))
    shown = text(site, "policies.html")
    assert [name for name in policies.all_policies() if name not in shown] == []
    shown = text(site, "claims.html")
    assert [name for name in claims.all_claims() if name not in shown] == []
    shown = text(site, "experiments.html")
    assert [name for name in experiments.names() if name not in shown] == []
    shown = text(site, "counters.html")
    counters = ("tlb.data.miss", "hash.hit.secondary", "walk.cycles", "exception.dsi", "reclaim", "bus.snoop")
    assert [name for name in counters if name not in shown] == []
    assert all(
        f"{name}" in text(site, "python.html") for name in ("Laboratory", "execute", "sweep", "Benchmark", "Observer")
    )


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((home().root / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == __version__
    assert citation["license"] == "Apache-2.0"
    assert {"message", "title", "authors"} <= citation.keys()
    assert f"## {__version__}" in (home().root / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [1400, 1250, 400])
@pytest.mark.parametrize("name", ["osdi99", "smp", "claims"])
def test_no_table_is_wider_than_its_page(site: Path, name: str, width: int) -> None:
    over = "[...d.querySelectorAll('.md-typeset__scrollwrap')].filter(e => e.scrollWidth > e.clientWidth).length"
    frame = framed(
        site / "frame.html", f"{name}.html", (width, 1000), f"`${{{over}}} ${{d.documentElement.scrollWidth}}`"
    )
    dom = browser.run(
        frame, "--allow-file-access-from-files", "--virtual-time-budget=9000", "--window-size=1600,1100", "--dump-dom"
    )
    assert f"<title>0 {width}</title>" in dom, dom[:200]
