//! Files in an initramfs: cpio "newc" archives (Linux kernel documentation, "initramfs buffer
//! format"). The machine reads them for one purpose: the symbols of the programs inside.

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpioFile<'a> {
    /// Path without a leading slash or "./".
    pub path: &'a str,
    /// File type and permissions, as in `stat`.
    pub mode: u32,
    pub data: &'a [u8],
}

const HEADER: usize = 110;
const FIELD_MODE: usize = 1;
const FIELD_FILE_SIZE: usize = 6;
const FIELD_NAME_SIZE: usize = 11;

/// The files of an uncompressed archive, up to its trailer or the first damage.
pub fn files(archive: &[u8]) -> Vec<CpioFile<'_>> {
    let mut files = Vec::new();
    let mut rest = archive;
    while let Some((file, next)) = first_file(rest) {
        if file.path == "TRAILER!!!" {
            break;
        }
        files.push(file);
        rest = next;
    }
    files
}

fn first_file(archive: &[u8]) -> Option<(CpioFile<'_>, &[u8])> {
    let header = archive.get(..HEADER)?;
    if !matches!(&header[..6], b"070701" | b"070702") {
        return None;
    }
    let field = |n: usize| {
        let digits = std::str::from_utf8(&header[6 + 8 * n..14 + 8 * n]).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    let name_size = field(FIELD_NAME_SIZE)? as usize;
    let file_size = field(FIELD_FILE_SIZE)? as usize;
    let name = archive.get(HEADER..HEADER.checked_add(name_size)?)?;
    let path = std::str::from_utf8(name.split(|&byte| byte == 0).next()?).ok()?;
    let path = path
        .strip_prefix("./")
        .unwrap_or(path)
        .trim_start_matches('/');
    let start = (HEADER + name_size).next_multiple_of(4);
    let end = start.checked_add(file_size)?;
    let data = archive.get(start..end)?;
    let next = archive.get(end.next_multiple_of(4)..).unwrap_or(&[]);
    Some((
        CpioFile {
            path,
            mode: field(FIELD_MODE)?,
            data,
        },
        next,
    ))
}
