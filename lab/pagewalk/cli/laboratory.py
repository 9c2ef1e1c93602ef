"""The local machine and the results file: what the commands that run things share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from pagewalk import native, results_file
from pagewalk.cli.output import err, say
from pagewalk.errors import Interrupted
from pagewalk.execute import Lab

if TYPE_CHECKING:
    from pagewalk.images import Image


@contextmanager
def laboratory(
    jobs: int | None = None, cluster: str | None = None, images: Mapping[str, Image] | None = None
) -> Iterator[Lab]:
    """The local machine and the results file. `images` are a person's own kernels by their roles."""
    with results_file.opened(notify=partial(say, err)) as store:
        try:
            yield Lab(native.NativeRunner(), store, workers=jobs, cluster=cluster, images=images)
        except KeyboardInterrupt:
            raise Interrupted(
                "interrupted; finished runs are kept", hint="the same command goes on from there"
            ) from None
