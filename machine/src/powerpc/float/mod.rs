//! Floating point: IEEE 754 arithmetic with the FPSCR's bits exactly as the architecture gives them.

pub mod format;
