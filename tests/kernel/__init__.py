"""Tests of the kernel that take many boots: policies, failing allocations, and the cycles of a boot."""
