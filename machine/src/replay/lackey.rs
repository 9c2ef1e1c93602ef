//! Lines of Valgrind's tool lackey with `--trace-mem=yes`: `I  04001000,3`, ` L 1fff000748,8`, ` S ...`, ` M ...`
//! (Valgrind's manual, "Lackey").

use super::Record;

/// The longest line, except for Valgrind's own messages, which begin with `==`.
const LINE_MOST: usize = 400;
/// The largest access that an instruction of x86 makes is a save of its whole state.
const BYTES_MOST: u32 = 1 << 14;

#[derive(Default)]
pub struct Lackey {
    line: u64,
    /// The rest of a message of Valgrind's, up to the end of its line, is left out.
    message: bool,
}

impl Lackey {
    pub fn parse(&mut self, bytes: &[u8], give: &mut dyn FnMut(&Record)) -> Result<usize, String> {
        let end = bytes
            .iter()
            .take(LINE_MOST + 1)
            .position(|&byte| byte == b'\n');
        let Some(end) = end else {
            if self.message || bytes.len() > LINE_MOST && bytes.starts_with(b"==") {
                // It shows the command, which has any length.
                self.message = true;
                return Ok(bytes.len().min(LINE_MOST));
            }
            if bytes.len() > LINE_MOST {
                return Err(format!("line {} is too long", self.line + 1));
            }
            return Ok(0);
        };
        self.line += 1;
        if std::mem::take(&mut self.message) {
            return Ok(end + 1);
        }
        let line = &bytes[..end];
        if line.is_empty()
            || line.starts_with(b"==")
            || line.starts_with(b"--")
            || line.starts_with(b"SB ")
        {
            return Ok(end + 1);
        }
        let (kind, address, size) = record(line).ok_or_else(|| {
            format!(
                "line {} is \"{}\", and lackey's lines look like \" L 1fff000748,8\"",
                self.line,
                String::from_utf8_lossy(line).escape_debug()
            )
        })?;
        let space = 0;
        match kind {
            b'I' => give(&Record::Fetch {
                space,
                address,
                size,
            }),
            kind => {
                if kind != b'S' {
                    give(&Record::Load {
                        space,
                        address,
                        size,
                    });
                }
                if kind != b'L' {
                    give(&Record::Store {
                        space,
                        address,
                        size,
                    });
                }
            }
        }
        Ok(end + 1)
    }
}

/// Letter, address and size of a line.
fn record(line: &[u8]) -> Option<(u8, u64, u32)> {
    let line = std::str::from_utf8(line).ok()?;
    let (kind, rest) = match line.as_bytes() {
        [b'I', b' ', b' ', ..] => (b'I', &line[3..]),
        [b' ', kind @ (b'L' | b'S' | b'M'), b' ', ..] => (*kind, &line[3..]),
        _ => return None,
    };
    let (address, size) = rest.split_once(',')?;
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !plain(address) || !plain(size) {
        return None;
    }
    let size = size
        .parse()
        .ok()
        .filter(|size| (1..=BYTES_MOST).contains(size))?;
    Some((kind, u64::from_str_radix(address, 16).ok()?, size))
}
