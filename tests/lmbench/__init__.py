"""Runs LmBench itself on the kernel and compares it with the rows of user/bench (docs/lmbench.md).

python -m lmbench <folder of LmBench's built programs>    runs both on a machine, prints both in cycles
"""
