"""Runs programs on the kernel and on Linux, and compares their output.

A *group* is a root directory and a list of *cases* (commands); a *target* runs a group and gives a transcript. The
reference is Linux: the group's programs under qemu-ppc, in a root directory of their own. The kernel runs them on the
pagewalk machine and on QEMU's 40p. A case passes if its output and its exit are those of the reference.

    python -m suite                  every group but the long ones on the machine ppc604-133
    python -m suite --programs DIR   every static PPC32 program below a folder, in the same way
    python -m suite --help           other groups, machines, and QEMU's 40p
"""
