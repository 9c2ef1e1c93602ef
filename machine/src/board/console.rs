//! The source and destination of the UART's bytes.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, channel};

enum Output {
    Memory,
    Stdout,
    File(File),
}

enum Input {
    Memory,
    Live(Receiver<u8>),
}

/// Core cycles between two checks for live input.
const POLL: u64 = 100_000;

/// Bytes of the guest's output that are kept in memory.
pub(super) const KEPT: usize = 64 << 20;

/// The host's end of the serial line. What is printed is also kept in memory, up to [`KEPT`].
pub struct Console {
    output: Output,
    input: Input,
    printed: Vec<u8>,
    /// Bytes that were printed and not kept.
    dropped: u64,
    typed: VecDeque<u8>,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Console({} bytes printed)", self.printed.len())
    }
}

impl Default for Console {
    fn default() -> Self {
        Self::memory()
    }
}

impl Console {
    /// Output and input in memory.
    pub fn memory() -> Self {
        Console {
            output: Output::Memory,
            input: Input::Memory,
            printed: Vec::new(),
            dropped: 0,
            typed: VecDeque::new(),
        }
    }

    /// Output to the host's standard output.
    pub fn stdout() -> Self {
        Console {
            output: Output::Stdout,
            ..Self::memory()
        }
    }

    /// Output to a file.
    pub fn file(file: File) -> Self {
        Console {
            output: Output::File(file),
            ..Self::memory()
        }
    }

    /// Adds live input from the host's standard input. A run with live input is not repeatable:
    /// for a repeatable one give the input beforehand with [`Console::type_in`].
    pub fn with_stdin(mut self) -> Self {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for byte in std::io::stdin().lock().bytes() {
                let Ok(byte) = byte else { break };
                if sender.send(byte).is_err() {
                    break;
                }
            }
        });
        self.input = Input::Live(receiver);
        self
    }

    /// Bytes that the guest will read, as fast as it takes them.
    pub fn type_in(&mut self, bytes: &[u8]) {
        self.typed.extend(bytes);
    }

    /// The guest's output so far, up to its first 64 MB.
    pub fn printed(&self) -> &[u8] {
        &self.printed
    }

    /// The number of bytes that the guest printed beyond these.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Input can come at any time from outside.
    pub fn live(&self) -> bool {
        matches!(self.input, Input::Live(_))
    }

    /// The core cycle at which a serial device must look for live input again, if there can be any.
    pub(super) fn next_check(&self, now: u64) -> Option<u64> {
        self.live().then(|| now + POLL)
    }

    pub(super) fn put(&mut self, byte: u8) {
        if self.printed.len() < KEPT {
            self.printed.push(byte);
        } else {
            self.dropped += 1;
        }
        // A closed terminal or a full disk must not stop or change the simulation.
        let _ = match &mut self.output {
            Output::Memory => Ok(()),
            Output::Stdout => {
                let mut stdout = std::io::stdout().lock();
                let end_of_line = byte == b'\n';
                stdout
                    .write_all(&[byte])
                    .and_then(|()| if end_of_line { stdout.flush() } else { Ok(()) })
            }
            Output::File(file) => file.write_all(&[byte]),
        };
    }

    /// True if input that was given beforehand has not been read yet.
    pub(super) fn waits(&self) -> bool {
        !self.typed.is_empty()
    }

    pub(super) fn take(&mut self) -> Option<u8> {
        if let Some(byte) = self.typed.pop_front() {
            return Some(byte);
        }
        match &self.input {
            Input::Memory => None,
            Input::Live(receiver) => receiver.try_recv().ok(),
        }
    }

    /// Puts back input that nobody has read.
    pub(super) fn put_back(&mut self, bytes: impl DoubleEndedIterator<Item = u8>) {
        bytes.rev().for_each(|byte| self.typed.push_front(byte));
    }

    /// Input that the guest has not taken yet.
    pub(super) fn typed(&self) -> Vec<u8> {
        self.typed.iter().copied().collect()
    }

    /// Takes over the state of another console: `printed` is not printed again; input of this one comes after
    /// `typed`.
    pub(super) fn resume(&mut self, printed: Vec<u8>, typed: Vec<u8>) {
        self.printed = printed;
        let given = std::mem::replace(&mut self.typed, typed.into());
        self.typed.extend(given);
    }
}
