//! Accesses of compiled code that miss the shortcuts of lines: the model makes them, and the code moves their data.

use crate::memory::NewLine;
use crate::powerpc::engine::shortcut;
use crate::powerpc::processor::Processor;

impl Processor {
    /// The model makes the load or the store of the `bytes` at `ea`, but moves no data. Returns the physical address.
    /// `None`: the access needs more than the shortcut of a page or a foreseen walk. Then nothing has changed.
    #[inline(always)]
    pub(super) fn access_for_compiled(&mut self, ea: u32, bytes: u32, store: bool) -> Option<u32> {
        let shown = store && (self.observers.sanitizers.is_some() || self.memory.undo.is_some());
        if ea & (bytes - 1) != 0 || shown || self.following || self.memory.timing().data_blocked {
            return None;
        }
        let physical = match self.known(ea, store) {
            Some(physical) => {
                if self.line_at_once(ea, physical, bytes, store) {
                    return Some(physical);
                }
                self.memory.expect(physical, &self.account);
                physical
            }
            None => {
                let foreseen = self.foresee(ea, store)?;
                self.walk_as_foreseen(ea, store, foreseen)
            }
        };
        if store {
            self.store_ordinary(physical);
        } else {
            self.load_ordinary(physical);
        }
        Some(physical)
    }

    /// Gives a shortcut to the line of an access that the model has just made. The line may be on its way, so that the
    /// caller must drop the shortcut after one access. It is good for a store, too: the model has made the line ready.
    #[cold]
    pub(super) fn lend_line(&mut self, ea: u32, physical: u32) {
        let hot = &self.hot;
        // SAFETY: the tables are this processor's, and the mask keeps the place inside. `physical` is of an access
        // through the shortcut of a page, and such a page lies in RAM altogether.
        let new = unsafe {
            let used = (*hot.shortcuts.add(shortcut::place(ea, hot.shortcut_mask))).used;
            NewLine {
                ea,
                host: hot.ram.add(physical as usize),
                store: true,
                recent: hot.data_recent.add(usize::from(used.set)),
                way: used.way,
            }
        };
        self.memory.data.shortcuts().set(self.data_mode, &new);
    }
}
