//! A RISC-V processor under GDB's control: x0 to x31, pc, and f0 to f31, in GDB's order.

use super::processor::Processor;
use super::turn::NAMES;
use crate::debug::{Debugged, Layout, Row};
use crate::memory::RamAddress;

/// RISC-V of 64 bits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rv64;

const PC: usize = 32;
const FLOAT: usize = 33;

impl Layout for Rv64 {
    const ARCHITECTURE: &'static str = "riscv:rv64";
    const BIG_ENDIAN: bool = false;
    const PC: usize = PC;

    fn rows() -> Vec<Row> {
        const CORE: &str = "org.gnu.gdb.riscv.cpu";
        let row = |name: &str, kind| Row::named(CORE, &[name], 64, kind);
        let general = NAMES.map(|name| match name {
            "sp" | "gp" | "tp" | "s0" => row(name, "type=\"data_ptr\""),
            _ => row(name, "type=\"int\""),
        });
        let float = Row::counted(
            "org.gnu.gdb.riscv.fpu",
            ("f", 32),
            64,
            "type=\"ieee_double\"",
        );
        let others = [row("pc", "type=\"code_ptr\""), float];
        general.into_iter().chain(others).collect()
    }
}

impl Debugged for Processor {
    type Layout = Rv64;

    fn values(&mut self) -> Vec<u128> {
        let (x, f) = self.registers.split_at(PC);
        let all = x.iter().chain([&self.pc]).chain(&f[..32]);
        all.map(|&value| value.into()).collect()
    }

    fn set_values(&mut self, values: &[u128], _: &[u128]) {
        let (x, f) = (values[1..32].iter(), values[FLOAT..].iter());
        for (register, &value) in self.registers[1..64].iter_mut().zip(x.chain(f)) {
            *register = value as u64;
        }
        self.pc = values[PC] as u64 & !1;
    }

    fn place(&self, address: u64) -> Option<RamAddress> {
        self.ram_address(self.peek(address)?, 1)
    }

    fn is_written(&mut self, at: RamAddress) {
        self.code_written(at, 1);
    }
}
