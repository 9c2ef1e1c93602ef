"""pagewalk: a full-system laboratory for address translation.

```python
import pagewalk

with pagewalk.Laboratory() as lab:
    table = lab.run("osdi99-table2")            # a polars data frame
    hello = lab.execute("./hello", machine="ppc603-133")
    print(hello.status, hello.seconds, hello.causes)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pagewalk.api import Benchmark, Laboratory, Result

__all__ = ["Benchmark", "Laboratory", "Result"]


def __getattr__(name: str) -> Any:
    """The API on first use: the command does without data frames, which are slow to import."""
    if name in __all__:
        from pagewalk import api  # noqa: PLC0415

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
