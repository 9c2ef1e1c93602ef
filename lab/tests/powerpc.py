"""The machines that the lab's kernel runs on."""

from pagewalk import machines


def machine_names() -> list[str]:
    """All of the checkout but those of an x86 processor."""
    return [name for name in machines.names() if machines.find(name).core not in ("i486", "p6")]
