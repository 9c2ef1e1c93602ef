//! What a trace says, and which formats there are.

use std::str::FromStr;

use super::champsim::ChampSim;
use super::drmemtrace::Drmemtrace;
use super::lackey::Lackey;

/// One thing that a trace tells. `space` is a number of an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// An instruction begins.
    Fetch {
        space: u32,
        address: u64,
        size: u32,
    },
    /// An instruction begins that is not fetched again, such as the next round of a string instruction.
    Repeat,
    Load {
        space: u32,
        address: u64,
        size: u32,
    },
    Store {
        space: u32,
        address: u64,
        size: u32,
    },
    /// Software drops the translation of an address.
    Invalidate {
        space: u32,
        address: u64,
    },
    /// Software drops all translations.
    Flush,
}

/// A format of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// ChampSim's records of 64 bytes.
    ChampSim,
    /// ChampSim's records of 96 bytes, with an address space.
    CloudSuite,
    /// DynamoRIO's.
    Drmemtrace,
    /// Lines of `valgrind --tool=lackey --trace-mem=yes`.
    Lackey,
}

impl Format {
    /// Every format and its name.
    pub const ALL: [(&'static str, Format); 4] = [
        ("champsim", Format::ChampSim),
        ("cloudsuite", Format::CloudSuite),
        ("drmemtrace", Format::Drmemtrace),
        ("lackey", Format::Lackey),
    ];
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|&(_, format)| format).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            format!("\"{text}\" is no format of traces: {names}")
        })
    }
}

enum Parser {
    ChampSim(ChampSim),
    Drmemtrace(Drmemtrace),
    Lackey(Lackey),
}

/// Bytes of one record at most, in any format.
const RECORD_MOST: usize = 512;

/// Reads a trace piece by piece. It keeps one unfinished record and nothing else.
pub struct Reader {
    parser: Parser,
    /// The beginning of a record whose end has not come yet.
    rest: Vec<u8>,
    /// Bytes before it.
    offset: u64,
}

/// Takes the records of a trace one by one. False: no more is wanted.
pub type Sink<'a> = &'a mut dyn FnMut(&Record) -> Result<bool, String>;

impl Reader {
    /// A reader of a trace from its beginning.
    #[must_use]
    pub fn new(format: Format) -> Self {
        let parser = match format {
            Format::ChampSim => Parser::ChampSim(ChampSim::new(false)),
            Format::CloudSuite => Parser::ChampSim(ChampSim::new(true)),
            Format::Drmemtrace => Parser::Drmemtrace(Drmemtrace::default()),
            Format::Lackey => Parser::Lackey(Lackey::default()),
        };
        Reader {
            parser,
            rest: Vec::new(),
            offset: 0,
        }
    }

    /// Reads the next piece, of any length. False: `sink` wants no more.
    ///
    /// # Errors
    /// What is wrong with the trace and at which byte, or what `sink` says.
    pub fn feed(&mut self, mut bytes: &[u8], sink: Sink) -> Result<bool, String> {
        while !self.rest.is_empty() && !bytes.is_empty() {
            // The record that was cut, with as much as the longest one can have.
            let known = self.rest.len();
            let more = bytes.len().min(RECORD_MOST);
            self.rest.extend(&bytes[..more]);
            let joined = std::mem::take(&mut self.rest);
            let (used, wants) = self.parse_one(&joined, sink)?;
            if !wants {
                return Ok(false);
            }
            if used == 0 {
                if joined.len() > RECORD_MOST {
                    return Err(self.at("a line is too long for a record"));
                }
                self.rest = joined;
                bytes = &bytes[more..];
            } else {
                self.offset += used as u64;
                if used < known {
                    self.rest = joined[used..known].to_vec();
                } else {
                    bytes = &bytes[used - known..];
                }
            }
        }
        let mut at = 0;
        while at < bytes.len() {
            let (used, wants) = self.parse_one(&bytes[at..], sink)?;
            if !wants {
                return Ok(false);
            }
            if used == 0 {
                break;
            }
            self.offset += used as u64;
            at += used;
        }
        if bytes.len() - at > RECORD_MOST {
            return Err(self.at("a line is too long for a record"));
        }
        self.rest.extend(&bytes[at..]);
        Ok(true)
    }

    /// Reads one record; gives its length, or 0 if it is not complete.
    fn parse_one(&mut self, bytes: &[u8], sink: Sink) -> Result<(usize, bool), String> {
        let (mut wants, mut refused) = (true, None);
        let mut give = |record: &Record| {
            if wants && refused.is_none() {
                match sink(record) {
                    Ok(more) => wants = more,
                    Err(why) => refused = Some(why),
                }
            }
        };
        let used = match &mut self.parser {
            Parser::ChampSim(parser) => parser.parse(bytes, &mut give),
            Parser::Drmemtrace(parser) => parser.parse(bytes, &mut give),
            Parser::Lackey(parser) => parser.parse(bytes, &mut give),
        };
        if let Some(why) = refused {
            return Err(why);
        }
        Ok((used.map_err(|why| self.at(&why))?, wants))
    }

    fn at(&self, why: &str) -> String {
        format!("at byte {}: {why}", self.offset)
    }

    /// The trace has ended.
    ///
    /// # Errors
    /// When it was cut, or when there was nothing in it.
    pub fn finish(&self) -> Result<(), String> {
        if self.offset == 0 && self.rest.is_empty() {
            return Err("is empty".to_owned());
        }
        if !self.rest.is_empty() {
            return Err(self.at("the file ends in the middle of a record"));
        }
        match &self.parser {
            Parser::Drmemtrace(parser) => parser.finish(),
            Parser::ChampSim(_) | Parser::Lackey(_) => Ok(()),
        }
    }
}
