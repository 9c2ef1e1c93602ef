"""LmBench itself on the kernel, beside the rows of user/bench that measure the same (docs/lmbench.md).

python -m lmbench <directory of LmBench's sources>    builds it, runs both on a machine, prints both in cycles
"""
