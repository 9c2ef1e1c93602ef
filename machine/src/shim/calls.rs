//! The system calls that the shim answers (Linux/PPC32 numbers and structures).

use super::files;
use super::space::{PAGE, page_up};
use super::stack::{TOP, USER};
use super::{Ending, Program};
use crate::powerpc::registers::Register;

/// Error numbers (Linux's errno.h).
pub mod errno {
    pub const ENOENT: u32 = 2;
    pub const EIO: u32 = 5;
    pub const ENXIO: u32 = 6;
    pub const EBADF: u32 = 9;
    pub const ENOMEM: u32 = 12;
    pub const EFAULT: u32 = 14;
    pub const EINVAL: u32 = 22;
    pub const EMFILE: u32 = 24;
    pub const ENOTTY: u32 = 25;
    pub const ENOSPC: u32 = 28;
    pub const ESPIPE: u32 = 29;
    pub const ENAMETOOLONG: u32 = 36;
    pub const ENOSYS: u32 = 38;
}

/// The only process.
pub(crate) const PROCESS: u32 = 1;

/// Calls that only report success.
pub(crate) const DONE: Result<u32, u32> = Ok(0);

/// The heap must end below the range that mmap uses.
pub(crate) const HEAP_LIMIT: u32 = 0x4000_0000;

/// Most bytes that one read or write moves.
pub(crate) const MOST: u32 = 1 << 20;

/// MAP_FIXED and MAP_ANONYMOUS.
pub(crate) const FIXED: u32 = 0x10;
pub(crate) const ANONYMOUS: u32 = 0x20;

pub(crate) const AT_FDCWD: u32 = -100_i32 as u32;

impl Program {
    /// Carries out the system call that the program makes.
    pub(super) fn system_call(&mut self) -> Option<Ending> {
        let gpr = self.machine.processor_mut().registers.gpr.all();
        let number = gpr[0];
        let a: [u32; 6] = std::array::from_fn(|n| gpr[3 + n]);
        let result = match number {
            1 | 234 => return Some(Ending::Exited(a[0] as u8)),
            3 => self.read(a[0], a[1], a[2]),
            4 => self.write(a[0], a[1], a[2]),
            5 => self.open(a[0], a[1]),
            6 => self.files.close(a[0]),
            13 => self.seconds(a[0]),
            // getpid, gettid, set_tid_address
            20 | 207 | 232 => Ok(PROCESS),
            24 | 47 | 49 | 50 => Ok(USER),
            33 => self
                .path(a[0])
                .and_then(|path| files::status(&path))
                .map(|_| 0),
            45 => Ok(self.set_brk(a[0])),
            54 => Err(errno::ENOTTY),
            78 => self.time_of_day(a[0]),
            85 => self.path(a[0]).and(Err(errno::ENOENT)),
            91 => self.unmap(a[0], a[1]),
            122 => self.uname(a[0]),
            140 => self.seek(&a),
            145 | 146 => self.vector(&a, number == 146),
            // mprotect, madvise, rt_sigaction, rt_sigprocmask, set_robust_list, futex's wake
            125 | 173 | 174 | 205 | 221 | 300 => DONE,
            182 => self.working_directory(a[0], a[1]),
            190 => self.limit(a[0], a[1], false),
            192 => self.map(&a),
            195 | 196 => self.path(a[0]).and_then(|path| {
                let status = files::status(&path)?;
                self.put_status(a[1], &status)
            }),
            197 => {
                let status = self.files.status(a[0]);
                status.and_then(|status| self.put_status(a[1], &status))
            }
            246 => self.clock(a[1], false),
            250 => {
                return Some(Ending::Killed(format!("killed itself by signal {}", a[2])));
            }
            286 if a[0] == AT_FDCWD => self.open(a[1], a[2]),
            325 if a[2] == 0 => self.limit(a[1], a[3], true),
            359 => self.random(a[0], a[1]),
            403 => self.clock(a[1], true),
            _ => Err(errno::ENOSYS),
        };
        let registers = &mut self.machine.processor_mut().registers;
        let (value, failed) = match result {
            Ok(value) => (value, false),
            Err(error) => (error, true),
        };
        registers.gpr.set(Register::new(3), value);
        // CR0[SO]
        registers.cr.set_bit(3, failed);
        None
    }

    fn put(&mut self, address: u32, bytes: &[u8]) -> Result<u32, u32> {
        if self
            .space
            .write(self.machine.processor_mut(), address, bytes)
        {
            Ok(0)
        } else {
            Err(errno::EFAULT)
        }
    }

    fn put_words(&mut self, address: u32, words: &[u32]) -> Result<u32, u32> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        self.put(address, &bytes)
    }

    fn fetch(&mut self, address: u32, length: u32) -> Result<Vec<u8>, u32> {
        let mut bytes = vec![0; length.min(MOST) as usize];
        if self
            .space
            .read(self.machine.processor_mut(), address, &mut bytes)
        {
            Ok(bytes)
        } else {
            Err(errno::EFAULT)
        }
    }

    /// The text at `address`.
    fn path(&mut self, address: u32) -> Result<String, u32> {
        let mut bytes = Vec::new();
        while bytes.len() < PAGE as usize {
            let byte = self.fetch(address.wrapping_add(bytes.len() as u32), 1)?[0];
            if byte == 0 {
                return String::from_utf8(bytes).map_err(|_| errno::ENOENT);
            }
            bytes.push(byte);
        }
        Err(errno::ENAMETOOLONG)
    }

    fn open(&mut self, path: u32, flags: u32) -> Result<u32, u32> {
        let path = self.path(path)?;
        self.files.open(&path, flags)
    }

    fn read(&mut self, descriptor: u32, address: u32, length: u32) -> Result<u32, u32> {
        let mut bytes = vec![0; length.min(MOST) as usize];
        let got = self.files.read(descriptor, &mut bytes)?;
        self.put(address, &bytes[..got])?;
        Ok(got as u32)
    }

    fn write(&mut self, descriptor: u32, address: u32, length: u32) -> Result<u32, u32> {
        let bytes = self.fetch(address, length)?;
        self.files.write(descriptor, &bytes).map(|done| done as u32)
    }

    /// readv and writev: part by part, until one is incomplete.
    fn vector(&mut self, a: &[u32; 6], write: bool) -> Result<u32, u32> {
        let mut done = 0;
        for n in 0..a[2].min(1024) {
            let entry = self.fetch(a[1].wrapping_add(8 * n), 8)?;
            let word = |at: usize| {
                u32::from_be_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
            };
            let (address, length) = (word(0), word(4));
            let part = if write {
                self.write(a[0], address, length)?
            } else {
                self.read(a[0], address, length)?
            };
            done += part;
            if part < length {
                break;
            }
        }
        Ok(done)
    }

    /// _llseek: the offset in two words, the result through a pointer.
    fn seek(&mut self, a: &[u32; 6]) -> Result<u32, u32> {
        let offset = (u64::from(a[1]) << 32 | u64::from(a[2])).cast_signed();
        let at = self.files.seek(a[0], offset, a[4])?;
        self.put(a[3], &at.to_be_bytes())
    }

    fn set_brk(&mut self, wanted: u32) -> u32 {
        if (self.brk_start..HEAP_LIMIT).contains(&wanted) {
            let (old, new) = (page_up(self.brk), page_up(wanted));
            if new > old {
                self.space.add_area(old, new);
            } else if new < old {
                self.space.remove(self.machine.processor_mut(), new, old);
            }
            self.brk = wanted;
        }
        self.brk
    }

    fn map(&mut self, a: &[u32; 6]) -> Result<u32, u32> {
        let length = page_up(a[1]);
        if a[3] & ANONYMOUS == 0 {
            return Err(errno::ENOSYS);
        }
        if length == 0 || a[1] > length {
            return Err(errno::EINVAL);
        }
        let start = if a[3] & FIXED != 0 {
            let end = a[0].checked_add(length).filter(|&end| end <= TOP);
            let end = end.ok_or(errno::ENOMEM)?;
            self.space.remove(self.machine.processor_mut(), a[0], end);
            a[0]
        } else {
            self.space.find(length).ok_or(errno::ENOMEM)?
        };
        self.space.add_area(start, start + length);
        Ok(start)
    }

    fn unmap(&mut self, start: u32, length: u32) -> Result<u32, u32> {
        let end = start
            .checked_add(page_up(length))
            .filter(|&end| start.is_multiple_of(PAGE) && end > start && end <= TOP)
            .ok_or(errno::EINVAL)?;
        self.space.remove(self.machine.processor_mut(), start, end);
        Ok(0)
    }

    /// struct new_utsname: six fields of 65 bytes.
    fn uname(&mut self, address: u32) -> Result<u32, u32> {
        let mut bytes = vec![0; 6 * 65];
        let fields = ["Linux", "pagewalk", "5.15.0", "#1", "ppc", "(none)"];
        for (field, text) in bytes.chunks_mut(65).zip(fields) {
            field[..text.len()].copy_from_slice(text.as_bytes());
        }
        self.put(address, &bytes)
    }

    /// struct stat64 (asm/stat.h of powerpc, 32 bits).
    fn put_status(&mut self, address: u32, status: &files::Status) -> Result<u32, u32> {
        let mut bytes = vec![0; 104];
        let mut put = |at: usize, value: u32| {
            bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
        };
        put(16, status.mode);
        put(20, 1);
        put(24, USER);
        put(28, USER);
        put(48, (status.size >> 32) as u32);
        put(52, status.size as u32);
        put(56, PAGE);
        put(68, status.size.div_ceil(512) as u32);
        self.put(address, &bytes)
    }

    /// Nanoseconds of machine time since reset: the clock begins in 1970.
    fn nanoseconds(&self) -> u64 {
        let clock = u128::from(self.machine.config().core.clock);
        (u128::from(self.machine.instant().cycles) * 1_000_000_000 / clock) as u64
    }

    fn seconds(&mut self, address: u32) -> Result<u32, u32> {
        let seconds = (self.nanoseconds() / 1_000_000_000) as u32;
        if address != 0 {
            self.put_words(address, &[seconds])?;
        }
        Ok(seconds)
    }

    fn time_of_day(&mut self, address: u32) -> Result<u32, u32> {
        let now = self.nanoseconds();
        let micros = (now % 1_000_000_000 / 1000) as u32;
        self.put_words(address, &[(now / 1_000_000_000) as u32, micros])
    }

    /// struct timespec, with 32 or 64 bits a field.
    fn clock(&mut self, address: u32, wide: bool) -> Result<u32, u32> {
        let now = self.nanoseconds();
        let seconds = (now / 1_000_000_000) as u32;
        let nanos = (now % 1_000_000_000) as u32;
        if wide {
            self.put_words(address, &[0, seconds, 0, nanos])
        } else {
            self.put_words(address, &[seconds, nanos])
        }
    }

    /// The stack's limit; all others are infinite.
    fn limit(&mut self, resource: u32, address: u32, wide: bool) -> Result<u32, u32> {
        const STACK: u32 = 3;
        if address == 0 {
            return DONE;
        }
        let high = if resource == STACK { 0 } else { u32::MAX };
        let value = if resource == STACK {
            TOP - super::stack::BOTTOM
        } else {
            u32::MAX
        };
        if wide {
            self.put_words(address, &[high, value, high, value])
        } else {
            self.put_words(address, &[value, value])
        }
    }

    fn working_directory(&mut self, address: u32, length: u32) -> Result<u32, u32> {
        const ROOT: &[u8] = b"/\0";
        if (length as usize) < ROOT.len() {
            return Err(errno::EINVAL);
        }
        self.put(address, ROOT)?;
        Ok(ROOT.len() as u32)
    }

    /// The same bytes in every run.
    fn random(&mut self, address: u32, length: u32) -> Result<u32, u32> {
        let length = length.min(256);
        let bytes: Vec<u8> = (0..length).map(|n| (n * 151 + 89) as u8).collect();
        self.put(address, &bytes)?;
        Ok(length)
    }
}
