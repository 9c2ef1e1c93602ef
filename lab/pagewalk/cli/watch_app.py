"""The screen of `pagewalk watch`: TLBs, hash table, cost categories and functions while a program runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Footer, Static

from pagewalk.watching import View, Watching

_ROWS = 8
_LABEL = 12


class WatchApp(App[int]):
    """The view. The machine runs in a thread of its own, one piece at a time; keys are answered between two pieces."""

    CSS = """
    Screen { layout: vertical; }
    Static { height: auto; padding: 0 1; }
    #state { text-style: bold; }
    #tables { height: auto; }
    #causes, #functions { width: 1fr; }
    #console { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "run_or_pause", "run or pause"),
        Binding("m", "step('miss')", "miss"),
        Binding("e", "step('exception')", "exception"),
        Binding("s", "step('switch')", "switch"),
        Binding("q", "quit_watch(0)", "quit"),
        Binding("ctrl+c", "quit_watch(130)", "interrupt", show=False, priority=True),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, watching: Watching, title: str, *, paused: bool) -> None:
        super().__init__()
        self.watching = watching
        self._named = title
        self._going = not paused
        self._busy = asyncio.Lock()

    def compose(self) -> ComposeResult:
        """See App."""
        yield Static(id="state")
        yield Static(id="event")
        yield Static(id="tlbs")
        yield Static(id="hash")
        with Horizontal(id="tables"):
            yield Static(id="causes")
            yield Static(id="functions")
        yield Static(id="console")
        yield Footer()

    def on_mount(self) -> None:
        """See App."""
        self.run_worker(self._run_on())

    async def _run_on(self) -> None:
        """Shows the state, and runs on while it is not paused."""
        await self._do(lambda: None)
        while True:
            if self._going and self.watching.ended is None:
                await self._do(self.watching.run)
            await asyncio.sleep(0.05)

    async def _do(self, piece: Callable[[], None]) -> None:
        async with self._busy:
            await asyncio.to_thread(piece)
            self.show(await asyncio.to_thread(self.watching.view))

    def action_run_or_pause(self) -> None:
        """Pauses, or runs on."""
        self._going = not self._going
        self.watching.stop()

    async def action_step(self, kind: str) -> None:
        """Pauses, and runs to the next event of that kind."""
        self._going = False
        if kind in ("miss", "exception", "switch") and not self._busy.locked():
            self.run_worker(self._do(lambda: self.watching.step(kind)))  # type: ignore[arg-type]

    def action_quit_watch(self, status: int) -> None:
        """Ends the view."""
        self._going = False
        self.watching.stop()
        self.exit(status)

    def show(self, view: View) -> None:
        """Puts a state on the screen."""
        doing = view.ended or ("running" if self._going else "paused")
        parts = {
            "state": f"{self._named}: {doing}, cycle {view.cycles:,}, {view.instructions:,} instructions",
            "event": view.event or "space runs and pauses; m, e and s go to the next miss, exception, switch",
            "tlbs": "\n".join(_labelled(f"{name} TLB", lines) for name, lines in view.tlbs.items()),
            "hash": _labelled("hash table", view.hash_table),
            "console": "\n".join(view.console.splitlines()[-3:]),
        }
        for name, text in parts.items():
            self.query_one(f"#{name}", Static).update(Text(text))
        self.query_one("#causes", Static).update(_causes(view))
        self.query_one("#functions", Static).update(_functions(view))


def _labelled(label: str, lines: Sequence[str]) -> str:
    """Lines with a label before them: both fit 78 columns."""
    words = label.replace("instruction", "instr.").ljust(_LABEL)
    return "\n".join(f"{words if not number else ' ' * _LABEL}{line}" for number, line in enumerate(lines))


def _causes(view: View) -> Table:
    made = Table("cause", box=None, expand=True, padding=(0, 1, 0, 0))
    made.add_column("cycles", justify="right")
    made.add_column("since stop", justify="right")
    for name, cycles, fresh in view.causes[:_ROWS]:
        made.add_row(name, f"{cycles:,}", f"+{fresh:,}" if fresh else "")
    return made


def _functions(view: View) -> Table:
    made = Table("function", box=None, expand=True, padding=(0, 1, 0, 0))
    made.add_column("cause")
    made.add_column("cycles", justify="right")
    for name, cause, cycles in view.functions[:_ROWS]:
        made.add_row(Text(name, overflow="fold"), cause, f"{cycles:,}")
    return made
