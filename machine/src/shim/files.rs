//! Open files: the program reads and writes the host's files.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use super::calls::errno;

/// Files that a program can have open at once.
const MOST: usize = 64;

/// Bytes of output that are kept for [`super::Program::printed`].
const KEPT: usize = 64 << 20;

/// Devices that a program may open: reads and writes of them never wait.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Descriptors; the first three are the host's standard streams.
#[derive(Default)]
pub struct Files {
    opened: Vec<Option<File>>,
    /// Collects standard output and standard error, instead of passing them to the host's.
    pub captured: Option<Vec<u8>>,
}

/// The status of a file, as stat returns it.
pub struct Status {
    pub mode: u32,
    pub size: u64,
}

/// O_ACCMODE, O_CREAT, O_EXCL, O_TRUNC, O_APPEND (Linux's asm-generic values, which PowerPC shares).
mod flag {
    pub const ACCESS: u32 = 3;
    pub const CREATE: u32 = 0o100;
    pub const EXCLUSIVE: u32 = 0o200;
    pub const TRUNCATE: u32 = 0o1000;
    pub const APPEND: u32 = 0o2000;
}

/// The error number of a failed operation of the host.
pub fn number(error: &io::Error) -> u32 {
    error.raw_os_error().map_or(errno::EIO, i32::cast_unsigned)
}

impl Files {
    pub fn open(&mut self, path: &str, flags: u32) -> Result<u32, u32> {
        let (read, write) = match flags & flag::ACCESS {
            0 => (true, false),
            1 => (false, true),
            _ => (true, true),
        };
        may_open(path)?;
        let file = OpenOptions::new()
            .read(read)
            .write(write)
            .append(flags & flag::APPEND != 0)
            .truncate(flags & flag::TRUNCATE != 0 && write)
            .create(flags & flag::CREATE != 0 && write)
            .create_new(flags & flag::CREATE != 0 && flags & flag::EXCLUSIVE != 0 && write)
            .open(path)
            .map_err(|error| number(&error))?;
        let free = self.opened.iter().position(Option::is_none);
        let index = free.unwrap_or(self.opened.len());
        if index >= MOST {
            return Err(errno::EMFILE);
        }
        if index == self.opened.len() {
            self.opened.push(None);
        }
        self.opened[index] = Some(file);
        Ok(index as u32 + 3)
    }

    fn get(&mut self, descriptor: u32) -> Result<&mut File, u32> {
        descriptor
            .checked_sub(3)
            .and_then(|index| self.opened.get_mut(index as usize))
            .and_then(Option::as_mut)
            .ok_or(errno::EBADF)
    }

    pub fn close(&mut self, descriptor: u32) -> Result<u32, u32> {
        if descriptor > 2 {
            self.get(descriptor)?;
            self.opened[descriptor as usize - 3] = None;
        }
        Ok(0)
    }

    pub fn read(&mut self, descriptor: u32, bytes: &mut [u8]) -> Result<usize, u32> {
        let got = match descriptor {
            0 => io::stdin().read(bytes),
            1 | 2 => return Err(errno::EBADF),
            _ => self.get(descriptor)?.read(bytes),
        };
        got.map_err(|error| number(&error))
    }

    pub fn write(&mut self, descriptor: u32, bytes: &[u8]) -> Result<usize, u32> {
        if let (1 | 2, Some(captured)) = (descriptor, &mut self.captured) {
            if captured.len() + bytes.len() > KEPT {
                return Err(errno::ENOSPC);
            }
            captured.extend(bytes);
            return Ok(bytes.len());
        }
        let done = match descriptor {
            0 => return Err(errno::EBADF),
            1 => io::stdout().write(bytes),
            2 => io::stderr().write(bytes),
            _ => self.get(descriptor)?.write(bytes),
        };
        done.map_err(|error| number(&error))
    }

    pub fn seek(&mut self, descriptor: u32, offset: i64, whence: u32) -> Result<u64, u32> {
        if descriptor < 3 {
            return Err(errno::ESPIPE);
        }
        let to = match whence {
            0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| errno::EINVAL)?),
            1 => SeekFrom::Current(offset),
            2 => SeekFrom::End(offset),
            _ => return Err(errno::EINVAL),
        };
        self.get(descriptor)?
            .seek(to)
            .map_err(|error| number(&error))
    }

    /// Standard streams always look like pipes, so that runs are alike on every host.
    pub fn status(&mut self, descriptor: u32) -> Result<Status, u32> {
        const PIPE: u32 = 0o010_600;
        if descriptor < 3 {
            return Ok(Status {
                mode: PIPE,
                size: 0,
            });
        }
        let data = self.get(descriptor)?.metadata();
        data.map(|data| status_of(&data))
            .map_err(|error| number(&error))
    }

    /// Nothing to do: what was written is with the host.
    pub fn flush(&mut self) {
        // If the reader has closed standard output, that is no error of the program.
        let _ = io::stdout().flush();
    }
}

/// Only files and directories of a disk, and a few devices, are opened: a pipe or a terminal could make the program
/// wait longer than its limit of cycles.
fn may_open(path: &str) -> Result<(), u32> {
    let Ok(data) = std::fs::metadata(path) else {
        // Opening it will report the error.
        return Ok(());
    };
    let known = std::fs::canonicalize(path).is_ok_and(|path| {
        let mut devices = DEVICES.iter();
        devices.any(|device| path.as_os_str() == *device)
    });
    if data.is_file() || data.is_dir() || known {
        Ok(())
    } else {
        Err(errno::ENXIO)
    }
}

/// The status of a file by its path.
pub fn status(path: &str) -> Result<Status, u32> {
    std::fs::metadata(path)
        .map(|data| status_of(&data))
        .map_err(|error| number(&error))
}

fn status_of(data: &std::fs::Metadata) -> Status {
    const REGULAR: u32 = 0o100_644;
    const DIRECTORY: u32 = 0o040_755;
    Status {
        mode: if data.is_dir() { DIRECTORY } else { REGULAR },
        size: data.len(),
    }
}
