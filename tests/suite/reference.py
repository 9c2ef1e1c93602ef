"""The reference: Linux itself. A group's root runs in user, mount and process namespaces of its own,
under qemu-ppc or qemu-i386 where the host does not run its programs itself. So
a real kernel does fork, exec and signals, while the run needs no privilege and changes nothing on the host.

The host's kernel starts these programs through binfmt_misc, which a user namespace may use since Linux 6.7.
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import stat
import subprocess
import tempfile
from pathlib import Path

from pagewalk.initramfs import unpack

from suite.model import Case, Group, Transcript, read_transcript
from suite.places import ARCH, BUILDS, PROGRAMS, USER, Missing, wanted

# The first bytes of an ELF executable (type 2) of the architecture, for any operating system's ABI.
_MAGIC = "".join(f"\\x{byte:02x}" for byte in ARCH.header + bytes(9) + ARCH.kind)
_TYPE = b"\xfe\xff" if ARCH.kind[0] else b"\xff\xfe"  # types 2 and 3
_MASK = "".join(f"\\x{byte:02x}" for byte in b"\xff" * 7 + b"\x00" + b"\xff" * 8 + _TYPE + b"\xff\xff")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

# The caller's umask is not the programs'. Nor would be what a caller has more of than init gives them: init sets the
# environment. How nice they are they inherit, and cannot change.
_SCRIPT = """
set -e
umask 022
root=$1; qemu=$2
mount -t tmpfs none "$root/tmp"
chmod 1777 "$root/tmp"
for device in {devices}; do
    mount --bind "/dev/$device" "$root/dev/$device"
done
mount -t devpts -o newinstance,ptmxmode=0666 none "$root/dev/pts"
mount --bind "$root/dev/pts/ptmx" "$root/dev/ptmx"
mount -t proc proc "$root/proc"
{emulate}
exec chroot "$root" /init /bin/suite /etc/suite
"""


_EMULATE = """mount -t binfmt_misc none "$root/proc/sys/fs/binfmt_misc"
echo ':program:M::{magic}:{mask}:'"$qemu"':F' > "$root/proc/sys/fs/binfmt_misc/register"
"""


def _runs_here() -> bool:
    """Whether the host itself runs the architecture's programs, as x86-64 does those for an i386."""
    try:
        return subprocess.run([str(USER / "hello")], stdout=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


def _lay_out(image: bytes, root: Path) -> None:
    """Unpacks an initramfs; device nodes become empty files, over which the host's are mounted."""
    for entry in unpack(image):
        path = root / entry.path
        if stat.S_ISDIR(entry.mode):
            path.mkdir(exist_ok=True)
        elif stat.S_ISLNK(entry.mode):
            path.symlink_to(entry.data.decode())
            continue
        elif stat.S_ISREG(entry.mode):
            path.write_bytes(entry.data)
        elif stat.S_ISFIFO(entry.mode):
            os.mkfifo(path)
        else:
            path.touch()
        path.chmod(stat.S_IMODE(entry.mode))
    for name in ("dev", "dev/pts", "proc", "tmp"):
        (root / name).mkdir(exist_ok=True)
    for device in (*_DEVICES, "ptmx"):
        (root / "dev" / device).touch()


def run(group: Group, cases: list[Case]) -> Transcript:
    """Runs cases of a group on Linux."""
    qemu = PROGRAMS / ARCH.emulator
    emulate = ":"
    if not _runs_here():
        wanted(qemu, f"run {BUILDS}tests/programs/qemu.sh")
        emulate = _EMULATE.format(magic=_MAGIC, mask=_MASK)
    script = _SCRIPT.format(devices=" ".join(map(shlex.quote, _DEVICES)), emulate=emulate)
    with tempfile.TemporaryDirectory(prefix="pagewalk-root-") as folder:
        root = Path(folder)
        _lay_out(group.packed(cases), root)
        # Standard input is a terminal, for job control, as on the kernel's console.
        controller, terminal = pty.openpty()
        done = subprocess.run(
            [
                "unshare",
                "--user",
                "--map-root-user",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "sh",
                "-c",
                script,
                "sh",
                str(root),
                str(qemu),
            ],
            stdin=terminal,
            capture_output=True,
            timeout=sum(case.seconds for case in cases) + 60,
            check=False,
        )
        os.close(terminal)
        os.close(controller)
    # Remove the emulator's own message about a program that dies: it is not the program's output.
    text = re.sub(r"^qemu(-\w+-static)?: .*\n", "", done.stdout.decode(errors="replace"), flags=re.MULTILINE)
    transcript = read_transcript(text)
    if "@done" not in transcript.rest:
        raise Missing(
            f"the reference run of {group.name} ended early (status {done.returncode}); it needs user namespaces and "
            f"binfmt_misc in them (Linux 6.7 or later): {done.stderr.decode(errors='replace').strip()}"
        )
    return transcript
