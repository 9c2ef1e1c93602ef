//! ChampSim's records: one for each instruction, of a fixed size, little-endian (its `inc/trace_instruction.h`).
//!
//! An address of 0 stands for no access. A record says neither how long the instruction is nor how large an access is.

use super::Record;

/// Bytes of a record, its registers of destination and its addresses of destination.
const PLAIN: (usize, usize) = (64, 2);
const CLOUD: (usize, usize) = (96, 4);

pub struct ChampSim {
    /// With an address space: the form that came with the CloudSuite traces.
    cloud: bool,
}

fn double_word(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

impl ChampSim {
    pub fn new(cloud: bool) -> Self {
        ChampSim { cloud }
    }

    pub fn parse(&mut self, bytes: &[u8], give: &mut dyn FnMut(&Record)) -> Result<usize, String> {
        const SOURCES: usize = 4;
        let (size, destinations) = if self.cloud { CLOUD } else { PLAIN };
        if bytes.len() < size {
            return Ok(0);
        }
        let (branch, taken) = (bytes[8], bytes[9]);
        if branch > 1 || taken > 1 {
            return Err(format!(
                "the marks of a branch are {branch} and {taken}, and can be 0 or 1: this is no ChampSim trace, or is damaged"
            ));
        }
        // After the registers comes a multiple of 8.
        let memory = (10 + destinations + SOURCES).next_multiple_of(8);
        let space = if self.cloud {
            let at = memory + 8 * (destinations + SOURCES);
            u32::from(bytes[at]) | u32::from(bytes[at + 1]) << 8
        } else {
            0
        };
        let address = double_word(bytes, 0);
        give(&Record::Fetch {
            space,
            address,
            size: 1,
        });
        for n in destinations..destinations + SOURCES {
            let address = double_word(bytes, memory + 8 * n);
            if address != 0 {
                give(&Record::Load {
                    space,
                    address,
                    size: 1,
                });
            }
        }
        for n in 0..destinations {
            let address = double_word(bytes, memory + 8 * n);
            if address != 0 {
                give(&Record::Store {
                    space,
                    address,
                    size: 1,
                });
            }
        }
        Ok(size)
    }
}
