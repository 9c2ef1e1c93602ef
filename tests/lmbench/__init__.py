"""LmBench itself on the kernel, beside the rows of user/bench that measure the same (docs/lmbench.md).

python -m lmbench <folder of LmBench's built programs>    runs both on a machine, prints both in cycles
"""
