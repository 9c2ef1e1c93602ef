"""pagewalk: a full-system laboratory for address translation.

```python
import pagewalk

with pagewalk.Laboratory() as lab:
    table = lab.run("osdi99-table2")            # columns with types: for pandas, polars, Arrow
    hello = lab.execute("./hello", machine="ppc603-133")
    print(hello.status, hello.seconds, hello.causes)
```
"""

# Nothing is imported here: `pagewalk.entry` has to set its handler of Ctrl-C before anything slow.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pagewalk.api import Benchmark, Laboratory, Result
    from pagewalk.table import Table, concat

    __version__: str

__all__ = ["Benchmark", "Laboratory", "Result", "Table", "__version__", "concat"]
_API = ("Benchmark", "Laboratory", "Result")
_TABLE = ("Table", "concat")


def __getattr__(name: str) -> "Any":
    """The API and the version on first use: the command does without the API, which is slow to import."""
    if name == "__version__":
        from pagewalk import _machine  # noqa: PLC0415

        return _machine.VERSION.partition("+")[0]
    if name in _API:
        from pagewalk import api  # noqa: PLC0415

        return getattr(api, name)
    if name in _TABLE:
        from pagewalk import table  # noqa: PLC0415

        return getattr(table, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
