//! The system calls that the shim answers. Their numbers, and the layout of struct stat64, are the architecture's.

use super::areas::{PAGE, page_up};
use super::files;
use super::stack::{BOTTOM, TOP, USER};
use super::{Ending, Hosted, Program};

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
const PROCESS: u32 = 1;

/// Calls that only report success.
const DONE: Result<u32, u32> = Ok(0);

/// The heap must end below the range that mmap uses.
const HEAP_LIMIT: u32 = 0x4000_0000;

/// Most bytes that one read or write moves.
const MOST: u32 = 1 << 20;

/// MAP_FIXED and MAP_ANONYMOUS.
const FIXED: u32 = 0x10;
const ANONYMOUS: u32 = 0x20;

const AT_FDCWD: u32 = -100_i32 as u32;

/// A system call that the shim knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Exit,
    Read,
    Write,
    Open,
    OpenAt,
    Close,
    Time,
    /// getpid, gettid, set_tid_address.
    Process,
    /// getuid and its kind.
    User,
    Access,
    /// faccessat: a directory before the path.
    AccessAt,
    Brk,
    Ioctl,
    TimeOfDay,
    ReadLink,
    /// readlinkat.
    ReadLinkAt,
    /// mmap with its arguments in memory, and the offset in bytes.
    OldMap,
    Map,
    Unmap,
    Name,
    /// _llseek.
    Seek,
    /// lseek of 64 bits.
    SeekHere,
    ReadVector,
    WriteVector,
    /// What only reports success: mprotect, madvise, rt_sigaction, rt_sigprocmask, set_robust_list, futex's wake.
    Nothing,
    WorkingDirectory,
    Limit,
    /// prlimit64.
    LimitOf,
    Status,
    StatusOfFile,
    /// newfstatat.
    StatusAt,
    ThreadArea,
    Clock,
    Clock64,
    /// tkill: thread, signal.
    Kill,
    /// tgkill: group, thread, signal.
    KillInGroup,
    Random,
}

/// Where struct stat64 has what.
#[derive(Clone, Copy, Debug)]
pub struct StatusLayout {
    pub bytes: usize,
    /// Upper and lower word of the size.
    pub size: (usize, usize),
    pub block: usize,
    /// The lower word of the number of blocks.
    pub blocks: usize,
}

impl<C: Hosted> Program<C> {
    /// Carries out the system call that the program makes.
    pub(super) fn system_call(&mut self) -> Option<Ending> {
        let (number, a) = self.machine.processor().call();
        let killed = |signal| Some(Ending::Killed(format!("killed itself by signal {signal}")));
        let result = match C::known(number) {
            Some(Call::Exit) => return Some(Ending::Exited(a[0] as u8)),
            Some(Call::Kill) => return killed(a[1]),
            Some(Call::KillInGroup) => return killed(a[2]),
            Some(call) => self.carry_out(call, &a),
            None => Err(errno::ENOSYS),
        };
        self.machine.processor_mut().give(result);
        None
    }

    fn carry_out(&mut self, call: Call, a: &[u32; 6]) -> Result<u32, u32> {
        match call {
            Call::Exit | Call::Kill | Call::KillInGroup => Err(errno::ENOSYS),
            Call::Read => self.read(a[0], a[1], a[2]),
            Call::Write => self.write(a[0], a[1], a[2]),
            Call::Open => self.open(a[0], a[1]),
            Call::OpenAt if a[0] == AT_FDCWD => self.open(a[1], a[2]),
            Call::OpenAt => Err(errno::ENOSYS),
            Call::Close => self.files.close(a[0]),
            Call::Time => self.seconds(a[0]),
            Call::Process => Ok(PROCESS),
            Call::User => Ok(USER),
            Call::Access => self
                .path(a[0])
                .and_then(|path| files::status(&path))
                .map(|_| 0),
            Call::AccessAt => self
                .path_at(a[0], a[1])
                .and_then(|path| files::status(&path))
                .map(|_| 0),
            Call::Brk => Ok(self.set_brk(a[0])),
            Call::Ioctl => Err(errno::ENOTTY),
            Call::TimeOfDay => self.time_of_day(a[0]),
            Call::ReadLink => self.path(a[0]).and(Err(errno::ENOENT)),
            Call::ReadLinkAt => self.path(a[1]).and(Err(errno::ENOENT)),
            Call::OldMap => {
                let arguments = self.fetch(a[0], 24)?;
                self.map(&Self::words(&arguments))
            }
            Call::Map => self.map(a),
            Call::Unmap => self.unmap(a[0], a[1]),
            Call::Name => self.uname(a[0]),
            Call::Seek => self.seek(a),
            Call::SeekHere => {
                let offset = i64::from(a[1].cast_signed());
                let at = self.files.seek(a[0], offset, a[2])?;
                u32::try_from(at).map_err(|_| errno::EINVAL)
            }
            Call::ReadVector => self.vector(a, false),
            Call::WriteVector => self.vector(a, true),
            Call::Nothing => DONE,
            Call::WorkingDirectory => self.working_directory(a[0], a[1]),
            Call::Limit => self.limit(a[0], a[1], false),
            Call::LimitOf if a[2] == 0 => self.limit(a[1], a[3], true),
            Call::LimitOf => Err(errno::ENOSYS),
            Call::Status => self.path(a[0]).and_then(|path| {
                let status = files::status(&path)?;
                self.put_status(a[1], &status)
            }),
            Call::StatusOfFile => {
                let status = self.files.status(a[0]);
                status.and_then(|status| self.put_status(a[1], &status))
            }
            Call::StatusAt => {
                const EMPTY_PATH: u32 = 0x1000;
                let path = self.path(a[1])?;
                let status = if path.is_empty() && a[3] & EMPTY_PATH != 0 {
                    self.files.status(a[0])?
                } else {
                    files::status(&self.path_at(a[0], a[1])?)?
                };
                self.put_status(a[2], &status)
            }
            Call::ThreadArea => self.thread_area(a[0]),
            Call::Clock => self.clock(a[1], false),
            Call::Clock64 => self.clock(a[1], true),
            Call::Random => self.random(a[0], a[1]),
        }
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
        self.put(address, &Self::bytes(words))
    }

    /// Writes numbers of 64 bits, or the lower halves of them.
    fn put_numbers(&mut self, address: u32, wide: bool, numbers: &[u64]) -> Result<u32, u32> {
        let words = numbers.iter().flat_map(|&number| {
            let (high, low) = ((number >> 32) as u32, number as u32);
            match (wide, C::BIG_ENDIAN) {
                (false, _) => vec![low],
                (true, true) => vec![high, low],
                (true, false) => vec![low, high],
            }
        });
        let words: Vec<u32> = words.collect();
        self.put_words(address, &words)
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

    /// The text at `address`, a path that needs no directory.
    fn path_at(&mut self, directory: u32, address: u32) -> Result<String, u32> {
        let path = self.path(address)?;
        if directory == AT_FDCWD || path.starts_with('/') {
            Ok(path)
        } else {
            Err(errno::ENOSYS)
        }
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
            let (address, length) = if C::WIDE {
                let entry = self.fetch(a[1].wrapping_add(16 * n), 16)?;
                let [first, second, third, fourth] = Self::words(&entry);
                if C::BIG_ENDIAN {
                    (second, fourth)
                } else {
                    (first, third)
                }
            } else {
                let entry = self.fetch(a[1].wrapping_add(8 * n), 8)?;
                let [address, length] = Self::words(&entry);
                (address, length)
            };
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
        self.put_numbers(a[3], true, &[at])
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
        let fields = ["Linux", "pagewalk", "5.15.0", "#1", C::MACHINE, "(none)"];
        for (field, text) in bytes.chunks_mut(65).zip(fields) {
            field[..text.len()].copy_from_slice(text.as_bytes());
        }
        self.put(address, &bytes)
    }

    fn put_status(&mut self, address: u32, status: &files::Status) -> Result<u32, u32> {
        let mut words = vec![0; C::STATUS.bytes / 4];
        let (high, low) = C::STATUS.size;
        for (at, value) in [
            (16, status.mode),
            (20, 1),
            (24, USER),
            (28, USER),
            (high, (status.size >> 32) as u32),
            (low, status.size as u32),
            (C::STATUS.block, PAGE),
            (C::STATUS.blocks, status.size.div_ceil(512) as u32),
        ] {
            words[at / 4] = value;
        }
        self.put_words(address, &words)
    }

    /// set_thread_area. struct user_desc: entry, base, limit, flags.
    fn thread_area(&mut self, address: u32) -> Result<u32, u32> {
        let bytes = self.fetch(address, 16)?;
        let [entry, base, limit, flags] = Self::words(&bytes);
        let processor = self.machine.processor_mut();
        let entry = processor.set_thread_area(entry, base, limit, flags);
        self.put_words(address, &[entry.ok_or(errno::EINVAL)?])
    }

    /// Nanoseconds of machine time since reset: the clock begins in 1970.
    fn nanoseconds(&self) -> u64 {
        let clock = u128::from(self.machine.shape().clock);
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
        let micros = now % 1_000_000_000 / 1000;
        self.put_numbers(address, C::WIDE, &[now / 1_000_000_000, micros])
    }

    /// struct timespec, with 32 or 64 bits a field.
    fn clock(&mut self, address: u32, wide: bool) -> Result<u32, u32> {
        const SECOND: u64 = 1_000_000_000;
        let now = self.nanoseconds();
        self.put_numbers(address, wide, &[now / SECOND, now % SECOND])
    }

    /// The stack's limit; all others are infinite.
    fn limit(&mut self, resource: u32, address: u32, wide: bool) -> Result<u32, u32> {
        const STACK: u32 = 3;
        if address == 0 {
            return DONE;
        }
        let value = if resource == STACK {
            (TOP - BOTTOM).into()
        } else {
            u64::MAX
        };
        self.put_numbers(address, wide, &[value; 2])
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
