//! The system calls that the shim answers (Linux/i386 numbers and structures).

use super::{Ending, Program};
use crate::shim::areas::{PAGE, page_up};
use crate::shim::calls::{ANONYMOUS, AT_FDCWD, DONE, FIXED, HEAP_LIMIT, MOST, PROCESS, errno};
use crate::shim::files;
use crate::shim::stack::{BOTTOM, TOP, USER};

/// The first descriptor that set_thread_area gives out, and how many there are.
const THREAD_FIRST: u32 = 6;
const THREAD_MOST: u32 = 3;

impl Program {
    /// Carries out the system call that the program makes.
    pub(super) fn system_call(&mut self) -> Option<Ending> {
        let gpr = self.machine.processor().registers.gpr;
        let number = gpr[0];
        let a = [gpr[3], gpr[1], gpr[2], gpr[6], gpr[7], gpr[5]];
        let result = match number {
            1 | 252 => return Some(Ending::Exited(a[0] as u8)),
            3 => self.read(a[0], a[1], a[2]),
            4 => self.write(a[0], a[1], a[2]),
            5 => self.open(a[0], a[1]),
            6 => self.files.close(a[0]),
            13 => self.seconds(a[0]),
            // getpid, gettid, set_tid_address
            20 | 224 | 258 => Ok(PROCESS),
            // getuid, getgid, geteuid, getegid, with 16 and with 32 bits
            24 | 47 | 49 | 50 | 199..=202 => Ok(USER),
            33 => self
                .path(a[0])
                .and_then(|path| files::status(&path))
                .map(|_| 0),
            45 => Ok(self.set_brk(a[0])),
            54 => Err(errno::ENOTTY),
            78 => self.time_of_day(a[0]),
            85 => self.path(a[0]).and(Err(errno::ENOENT)),
            90 => self.old_map(a[0]),
            91 => self.unmap(a[0], a[1]),
            122 => self.uname(a[0]),
            140 => self.seek(&a),
            145 | 146 => self.vector(&a, number == 146),
            // mprotect, rt_sigaction, rt_sigprocmask, madvise, futex's wake, set_robust_list
            125 | 174 | 175 | 219 | 240 | 311 => DONE,
            183 => self.working_directory(a[0], a[1]),
            191 => self.limit(a[1]),
            192 => self.map(&a),
            195 | 196 => self.path(a[0]).and_then(|path| {
                let status = files::status(&path)?;
                self.put_status(a[1], &status)
            }),
            197 => {
                let status = self.files.status(a[0]);
                status.and_then(|status| self.put_status(a[1], &status))
            }
            243 => self.thread_area(a[0]),
            265 => self.clock(a[1], false),
            270 | 238 => {
                return Some(Ending::Killed(format!("killed itself by signal {}", a[1])));
            }
            295 if a[0] == AT_FDCWD => self.open(a[1], a[2]),
            355 => self.random(a[0], a[1]),
            403 => self.clock(a[1], true),
            _ => Err(errno::ENOSYS),
        };
        let registers = &mut self.machine.processor_mut().registers;
        registers.gpr[0] = match result {
            Ok(value) => value,
            Err(error) => error.wrapping_neg(),
        };
        None
    }

    fn put(&mut self, address: u32, bytes: &[u8]) -> Result<u32, u32> {
        let processor = self.machine.processor_mut();
        if self.space.write(processor, address, bytes) {
            Ok(0)
        } else {
            Err(errno::EFAULT)
        }
    }

    fn put_words(&mut self, address: u32, words: &[u32]) -> Result<u32, u32> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.put(address, &bytes)
    }

    fn fetch(&mut self, address: u32, length: u32) -> Result<Vec<u8>, u32> {
        let mut bytes = vec![0; length.min(MOST) as usize];
        let processor = self.machine.processor_mut();
        if self.space.read(processor, address, &mut bytes) {
            Ok(bytes)
        } else {
            Err(errno::EFAULT)
        }
    }

    fn words<const N: usize>(&mut self, address: u32) -> Result<[u32; N], u32> {
        let bytes = self.fetch(address, 4 * N as u32)?;
        Ok(std::array::from_fn(|n| {
            let at = 4 * n;
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        }))
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
            let [address, length] = self.words(a[1].wrapping_add(8 * n))?;
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
        self.put(a[3], &at.to_le_bytes())
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

    /// mmap with its arguments in memory, and the offset in bytes.
    fn old_map(&mut self, address: u32) -> Result<u32, u32> {
        let arguments = self.words(address)?;
        self.map(&arguments)
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

    /// set_thread_area: a descriptor for GS. struct user_desc: entry, base, limit, flags.
    fn thread_area(&mut self, address: u32) -> Result<u32, u32> {
        let [mut entry, base, limit, flags] = self.words(address)?;
        if entry == u32::MAX {
            entry = THREAD_FIRST;
        }
        if !(THREAD_FIRST..THREAD_FIRST + THREAD_MOST).contains(&entry) {
            return Err(errno::EINVAL);
        }
        // Data of ring 3 that may be written, 32 bits; bit 4 of the flags: the limit counts pages.
        const RIGHTS: u32 = 0x0040_f300;
        let granular = (flags >> 4 & 1) << 23;
        let low = base << 16 | limit & 0xffff;
        let high = base & 0xff00_0000 | base >> 16 & 0xff | limit & 0x000f_0000 | RIGHTS | granular;
        let processor = self.machine.processor_mut();
        self.space.set_descriptor(processor, entry, (low, high));
        self.put_words(address, &[entry])
    }

    /// struct new_utsname: six fields of 65 bytes.
    fn uname(&mut self, address: u32) -> Result<u32, u32> {
        let mut bytes = vec![0; 6 * 65];
        let fields = ["Linux", "pagewalk", "5.15.0", "#1", "i486", "(none)"];
        for (field, text) in bytes.chunks_mut(65).zip(fields) {
            field[..text.len()].copy_from_slice(text.as_bytes());
        }
        self.put(address, &bytes)
    }

    /// struct stat64 (asm/stat.h of x86, 32 bits).
    fn put_status(&mut self, address: u32, status: &files::Status) -> Result<u32, u32> {
        let mut bytes = vec![0; 96];
        let mut put = |at: usize, value: u32| {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        };
        put(16, status.mode);
        put(20, 1);
        put(24, USER);
        put(28, USER);
        put(44, status.size as u32);
        put(48, (status.size >> 32) as u32);
        put(52, PAGE);
        put(56, status.size.div_ceil(512) as u32);
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
            self.put_words(address, &[seconds, 0, nanos, 0])
        } else {
            self.put_words(address, &[seconds, nanos])
        }
    }

    /// The stack's limit, which all others have too.
    fn limit(&mut self, address: u32) -> Result<u32, u32> {
        self.put_words(address, &[TOP - BOTTOM; 2])
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
