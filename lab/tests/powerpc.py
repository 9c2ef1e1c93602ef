"""The PowerPC machines of the checkout."""

from pagewalk import machines
from pagewalk.architectures import POWERPC


def machine_names() -> list[str]:
    """Their names, in order."""
    return [name for name in machines.names() if machines.find(name).architecture is POWERPC]
