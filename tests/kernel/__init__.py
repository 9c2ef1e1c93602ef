"""Tests of the kernel that take many boots: policies, failing allocations, and what a boot costs."""
