//! The keyboard controller of a PC, an 8042, with its second port for a mouse (IBM's PS/2 technical references,
//! recalled). Nothing is connected to either: a byte sent to a keyboard or a mouse comes back at once as a request to
//! send it again, with the status of a timeout, so that a kernel that looks for them goes on.
//!
//! The controller drives the line that resets the processor. It would also drive the gate of address bit 20, which is
//! open here whatever is written.

use serde::{Deserialize, Serialize};

use super::{At, Console, Device, Effect, restored, saved};

/// The windows: data at port 0x60, status and commands at port 0x64.
pub(super) const DATA: u8 = 0;
pub(super) const COMMANDS: u8 = 1;

/// Interrupt requests of the keyboard and of the mouse.
pub(super) const KEYBOARD_LINE: u8 = 1;
pub(super) const MOUSE_LINE: u8 = 12;

/// Bits of the status.
mod status {
    /// Port 0x60 has a byte.
    pub const FULL: u8 = 1;
    /// The self-test has passed.
    pub const SYSTEM: u8 = 1 << 2;
    /// What was written last was a command.
    pub const COMMAND: u8 = 1 << 3;
    /// The keyboard's lock is open.
    pub const UNLOCKED: u8 = 1 << 4;
    /// The byte is the mouse's.
    pub const MOUSE: u8 = 1 << 5;
    pub const TIMEOUT: u8 = 1 << 6;
    pub const OF_BYTE: u8 = FULL | MOUSE | TIMEOUT;
}

/// Bits of the command byte.
mod mode {
    pub const KEYBOARD_INTERRUPT: u8 = 1;
    pub const MOUSE_INTERRUPT: u8 = 1 << 1;
    pub const SYSTEM: u8 = 1 << 2;
    pub const KEYBOARD_OFF: u8 = 1 << 4;
    pub const MOUSE_OFF: u8 = 1 << 5;
    /// As firmware leaves it: scan codes are translated, the keyboard interrupts.
    pub const INITIAL: u8 = 1 << 6 | SYSTEM | KEYBOARD_INTERRUPT;
}

/// Commands.
mod command {
    pub const READ_MODE: u8 = 0x20;
    pub const WRITE_MODE: u8 = 0x60;
    pub const MOUSE_OFF: u8 = 0xa7;
    pub const MOUSE_ON: u8 = 0xa8;
    pub const TEST_MOUSE: u8 = 0xa9;
    pub const TEST: u8 = 0xaa;
    pub const TEST_KEYBOARD: u8 = 0xab;
    pub const KEYBOARD_OFF: u8 = 0xad;
    pub const KEYBOARD_ON: u8 = 0xae;
    pub const READ_INPUTS: u8 = 0xc0;
    pub const READ_OUTPUTS: u8 = 0xd0;
    pub const WRITE_OUTPUTS: u8 = 0xd1;
    pub const AS_KEYBOARD: u8 = 0xd2;
    pub const AS_MOUSE: u8 = 0xd3;
    pub const TO_MOUSE: u8 = 0xd4;
    /// From here on the low four bits say which outputs stay high: the others are low for a moment.
    pub const PULSE: u8 = 0xf0;
    /// Those that take their operand from port 0x60.
    pub const AWAITING: [u8; 5] = [WRITE_MODE, WRITE_OUTPUTS, AS_KEYBOARD, AS_MOUSE, TO_MOUSE];
}

/// Replies.
mod reply {
    pub const TEST_PASSED: u8 = 0x55;
    pub const PORT_WORKS: u8 = 0;
    /// The lock is open.
    pub const INPUTS: u8 = 0x80;
    /// What a device asks for that has not understood a byte; here the controller, where there is no device.
    pub const RESEND: u8 = 0xfe;
}

/// Outputs: the first is low while the processor is reset.
const NOT_RESET: u8 = 1;

/// After a reset, the gate of address bit 20 is open.
const OUTPUTS: u8 = NOT_RESET | 1 << 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Keyboard {
    /// The command byte: bits of [`mode`].
    mode: u8,
    /// What port 0x60 reads.
    data: u8,
    /// Bits of [`status`].
    status: u8,
    outputs: u8,
    /// The command whose operand port 0x60 takes next.
    awaiting: Option<u8>,
}

impl Keyboard {
    pub fn new() -> Self {
        Keyboard {
            mode: mode::INITIAL,
            data: 0,
            status: status::SYSTEM,
            outputs: OUTPUTS,
            awaiting: None,
        }
    }

    /// `data` waits in port 0x60; `about` says whose it is.
    fn answer(&mut self, data: u8, about: u8) {
        self.data = data;
        self.status = self.status & !status::OF_BYTE | status::FULL | about;
    }

    fn command(&mut self, command: u8) -> Option<Effect> {
        self.status |= status::COMMAND;
        self.awaiting = command::AWAITING.contains(&command).then_some(command);
        match command {
            command::READ_MODE => self.answer(self.mode, 0),
            command::MOUSE_OFF => self.mode |= mode::MOUSE_OFF,
            command::MOUSE_ON => self.mode &= !mode::MOUSE_OFF,
            command::KEYBOARD_OFF => self.mode |= mode::KEYBOARD_OFF,
            command::KEYBOARD_ON => self.mode &= !mode::KEYBOARD_OFF,
            command::TEST_MOUSE | command::TEST_KEYBOARD => self.answer(reply::PORT_WORKS, 0),
            command::TEST => {
                self.status |= status::SYSTEM;
                self.answer(reply::TEST_PASSED, 0);
            }
            command::READ_INPUTS => self.answer(reply::INPUTS, 0),
            command::READ_OUTPUTS => self.answer(self.outputs, 0),
            command::PULSE.. => return reset(command),
            _ => {}
        }
        None
    }

    fn data(&mut self, data: u8) -> Option<Effect> {
        self.status &= !status::COMMAND;
        match self.awaiting.take() {
            Some(command::WRITE_MODE) => {
                self.mode = data;
                let system = if data & mode::SYSTEM != 0 {
                    status::SYSTEM
                } else {
                    0
                };
                self.status = self.status & !status::SYSTEM | system;
            }
            Some(command::WRITE_OUTPUTS) => {
                self.outputs = data | NOT_RESET;
                return reset(data);
            }
            Some(command::AS_KEYBOARD) => self.answer(data, 0),
            Some(command::AS_MOUSE) => self.answer(data, status::MOUSE),
            Some(command::TO_MOUSE) => {
                self.mode &= !mode::MOUSE_OFF;
                self.answer(reply::RESEND, status::MOUSE | status::TIMEOUT);
            }
            _ => {
                self.mode &= !mode::KEYBOARD_OFF;
                self.answer(reply::RESEND, status::TIMEOUT);
            }
        }
        None
    }
}

/// A reset, which ends the run, if the outputs would cause it.
fn reset(outputs: u8) -> Option<Effect> {
    (outputs & NOT_RESET == 0).then_some(Effect::PowerOff(0))
}

impl Device for Keyboard {
    fn widths(&self) -> &'static [u32] {
        &[1]
    }

    fn read(&mut self, at: At, _: &mut Console) -> Result<u64, &'static str> {
        if at.window == COMMANDS {
            return Ok((self.status | status::UNLOCKED).into());
        }
        self.status &= !status::OF_BYTE;
        Ok(self.data.into())
    }

    fn write(
        &mut self,
        at: At,
        value: u64,
        _: &mut Console,
    ) -> Result<Option<Effect>, &'static str> {
        Ok(if at.window == COMMANDS {
            self.command(value as u8)
        } else {
            self.data(value as u8)
        })
    }

    fn drives(&self, line: u8) -> bool {
        let mouse = self.status & status::MOUSE != 0;
        let wanted = if line == MOUSE_LINE {
            mouse && self.mode & mode::MOUSE_INTERRUPT != 0
        } else {
            !mouse && self.mode & mode::KEYBOARD_INTERRUPT != 0
        };
        wanted && self.status & status::FULL != 0
    }

    fn save(&self) -> Vec<u8> {
        saved(self)
    }

    fn restore(&mut self, state: &[u8]) -> bool {
        const OWN: u8 = status::OF_BYTE | status::SYSTEM | status::COMMAND;
        restored(self, state, |keyboard: &Keyboard| {
            let awaiting = keyboard.awaiting;
            keyboard.status & !OWN == 0
                && keyboard.outputs & NOT_RESET != 0
                && awaiting.is_none_or(|command| command::AWAITING.contains(&command))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::Instant;

    /// A controller, accessed as ports 0x60 and 0x64.
    struct Bench {
        keyboard: Keyboard,
        console: Console,
    }

    impl Bench {
        fn new() -> Self {
            Bench {
                keyboard: Keyboard::new(),
                console: Console::memory(),
            }
        }

        fn at(window: u8) -> At {
            At {
                window,
                offset: 0,
                size: 1,
                now: Instant::default(),
            }
        }

        fn write(&mut self, window: u8, value: u8) -> Option<Effect> {
            let (at, console) = (Self::at(window), &mut self.console);
            self.keyboard
                .write(at, value.into(), console)
                .expect("a port")
        }

        fn read(&mut self, window: u8) -> u8 {
            let (at, console) = (Self::at(window), &mut self.console);
            self.keyboard.read(at, console).expect("a port") as u8
        }

        /// The reply to a command, which port 0x60 has at once.
        fn asked(&mut self, command: u8) -> u8 {
            self.write(COMMANDS, command);
            assert_eq!(self.read(COMMANDS) & status::FULL, status::FULL);
            self.read(DATA)
        }
    }

    #[test]
    fn a_probe_finds_a_controller_and_nothing_connected() {
        let mut bench = Bench::new();
        assert_eq!(bench.read(COMMANDS) & status::FULL, 0);
        assert_eq!(bench.asked(0xaa), 0x55);
        assert_eq!(bench.asked(0xab), 0);
        assert_eq!(bench.asked(0xa9), 0);
        assert_eq!(bench.asked(0x20), 0x45);
        bench.write(COMMANDS, 0xa7);
        assert_eq!(bench.asked(0x20), 0x65);
        bench.write(COMMANDS, 0x60);
        bench.write(DATA, 0x30);
        assert_eq!(bench.asked(0x20), 0x30);
        assert_eq!(bench.read(COMMANDS) & status::SYSTEM, 0);
        // A byte to the keyboard, and one to the mouse.
        bench.write(DATA, 0xf2);
        assert_eq!(bench.read(COMMANDS), 0x51);
        assert_eq!(bench.read(DATA), 0xfe);
        bench.write(COMMANDS, 0xd4);
        bench.write(DATA, 0xff);
        assert_eq!(bench.read(COMMANDS), 0x71);
        assert_eq!(bench.read(DATA), 0xfe);
        assert_eq!(bench.asked(0x20), 0, "both ports are on again");
    }

    #[test]
    fn a_byte_interrupts_until_it_is_read() {
        let mut bench = Bench::new();
        let lines =
            |bench: &Bench| [KEYBOARD_LINE, MOUSE_LINE].map(|line| bench.keyboard.drives(line));
        for (mode, command, wanted) in [
            (0x47, 0xd2, [true, false]),
            (0x47, 0xd3, [false, true]),
            (0x45, 0xd3, [false, false]),
            (0x46, 0xd2, [false, false]),
        ] {
            bench.write(COMMANDS, 0x60);
            bench.write(DATA, mode);
            bench.write(COMMANDS, command);
            bench.write(DATA, 0x5a);
            assert_eq!(lines(&bench), wanted, "{mode:x} {command:x}");
            assert_eq!(bench.read(DATA), 0x5a);
            assert_eq!(lines(&bench), [false, false]);
        }
    }

    #[test]
    fn the_processor_is_reset_by_its_line_alone() {
        for (command, ends) in [(0xfe, true), (0xf0, true), (0xff, false), (0xd1, false)] {
            let wanted = ends.then_some(Effect::PowerOff(0));
            assert_eq!(Bench::new().write(COMMANDS, command), wanted, "{command:x}");
        }
        let mut bench = Bench::new();
        bench.write(COMMANDS, 0xd1);
        assert_eq!(bench.write(DATA, 0xdf), None);
        assert_eq!(bench.asked(0xd0), 0xdf);
        bench.write(COMMANDS, 0xd1);
        assert_eq!(bench.write(DATA, 0xde), Some(Effect::PowerOff(0)));
    }

    #[test]
    fn every_state_can_be_restored() {
        let mut bench = Bench::new();
        for n in 0..0x4_0000_u32 {
            let value = (n.wrapping_mul(0x9e37_79b1) >> 13) as u8;
            bench.write((n & 1) as u8, value);
            if n % 3 == 0 {
                bench.read((n >> 2 & 1) as u8);
            }
            let mut other = Keyboard::new();
            assert!(other.restore(&bench.keyboard.save()));
            assert_eq!(other.save(), bench.keyboard.save());
        }
    }
}
