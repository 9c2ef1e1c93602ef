//! Where a debugger stops a processor.

/// Addresses whose accesses stop the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchpoint {
    pub address: u64,
    pub length: u64,
    pub reads: bool,
    pub writes: bool,
}

impl Watchpoint {
    fn covers(&self, address: u64, bytes: u32) -> bool {
        let end = self.address.saturating_add(self.length);
        address < end && address.saturating_add(bytes.into()) > self.address
    }
}

/// A processor's breakpoints and watchpoints.
#[derive(Clone, Debug, Default)]
pub struct Breakpoints {
    code: Vec<u64>,
    data: Vec<Watchpoint>,
    /// The breakpoint where the machine stopped; the next run may pass it.
    passing: Option<u64>,
}

impl Breakpoints {
    /// True without any: the processor need not look at each instruction and access.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.code.is_empty() && self.data.is_empty()
    }

    /// True if the machine must stop before the instruction at `pc`: not a second time at the same place.
    pub fn stops_at(&mut self, pc: impl Into<u64>) -> bool {
        let pc = pc.into();
        let stops = self.code.contains(&pc) && self.passing != Some(pc);
        if stops {
            self.passing = Some(pc);
        }
        stops
    }

    /// An instruction has run.
    pub fn passed(&mut self) {
        self.passing = None;
    }

    /// True if the access is watched.
    #[must_use]
    pub fn watches(&self, address: impl Into<u64>, bytes: u32, write: bool) -> bool {
        let address = address.into();
        let mut all = self.data.iter();
        all.any(|w| (if write { w.writes } else { w.reads }) && w.covers(address, bytes))
    }

    /// True if some access to these bytes is watched.
    #[must_use]
    pub fn watches_some(&self, address: impl Into<u64>, bytes: u32) -> bool {
        let address = address.into();
        self.data.iter().any(|w| w.covers(address, bytes))
    }

    /// Stops before the instruction at `address`.
    pub fn add(&mut self, address: u64) {
        self.code.push(address);
    }

    /// True if there was one.
    pub fn remove(&mut self, address: u64) -> bool {
        let found = self.code.iter().position(|&other| other == address);
        found.map(|n| self.code.swap_remove(n)).is_some()
    }

    /// Stops after the instruction that accesses these addresses.
    pub fn watch(&mut self, watchpoint: Watchpoint) {
        self.data.push(watchpoint);
    }

    /// True if there was one.
    pub fn watch_no_more(&mut self, watchpoint: &Watchpoint) -> bool {
        let found = self.data.iter().position(|other| other == watchpoint);
        found.map(|n| self.data.swap_remove(n)).is_some()
    }

    /// Removes all of both kinds.
    pub fn clear(&mut self) {
        self.code.clear();
        self.data.clear();
    }
}
