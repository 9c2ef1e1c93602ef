//! Transactions without data, by which a core tells the other devices on the bus what it does.

use super::hierarchy::Memory;
use crate::account::{Account, Plain};
pub use crate::config::Broadcast;

/// A transaction without data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transaction {
    /// `sync`: the only one that the core waits for.
    Sync,
    /// `eieio`.
    OrderedAccess,
    /// `dcbst`, `dcbf`, `dcbi`, and `dcbz` of a line that the cache does not hold: clean, flush, kill.
    DataBlock,
    /// `icbi`.
    InstructionBlock,
    /// `tlbie`.
    TlbInvalidate,
    /// `tlbsync`.
    TlbSync,
}

impl Memory {
    /// True if the core puts `transaction` on the bus.
    #[must_use]
    pub fn broadcasts(&self, transaction: Transaction) -> bool {
        use Transaction::{InstructionBlock, TlbInvalidate, TlbSync};
        let of_the_tlb = matches!(transaction, TlbInvalidate | TlbSync);
        match self.timing.broadcast {
            Broadcast::Never => false,
            Broadcast::Enabled => {
                self.broadcast_enabled && !of_the_tlb && transaction != InstructionBlock
            }
            Broadcast::Always => !of_the_tlb || self.timing.tlb_broadcast,
        }
    }

    /// Has `transaction` broadcast, if the core does that. The core goes on, but that the transaction
    /// takes an entry of the store queue; after `sync` it goes on when all transfers are over. Returns the stall.
    pub fn broadcast(&mut self, transaction: Transaction, now: u64, account: &mut Account) -> u64 {
        use Transaction::Sync;
        let on_the_bus = self.broadcasts(transaction);
        if transaction == Sync {
            let mut done = now + self.drain(now);
            if on_the_bus {
                done = self.uncore.bus.address_only(done, account);
            }
            account.add_plain(Plain::SyncCycles, done - now);
            return done - now;
        }
        if !on_the_bus {
            return 0;
        }
        let done = match transaction {
            Transaction::TlbInvalidate | Transaction::TlbSync => {
                let invalidate = transaction == Transaction::TlbInvalidate;
                let number = self.number;
                (self.uncore.bus).tlb_tenure(number, invalidate, now, account)
            }
            _ => self.uncore.bus.address_only(now, account),
        };
        self.stores
            .post(now, done, self.timing.store_queue as usize)
    }
}
