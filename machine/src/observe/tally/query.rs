//! The language of the observers in one line: `miss(data) by function, page where cause == kernel`.

use std::cmp::Ordering;
use std::str::FromStr;

use crate::account::counters::named;
use crate::observe::listener::Kind;

named! {
    /// What an event can be grouped, chosen or measured by.
    #[repr(usize)]
    Field, FIELDS {
        /// The function that ran.
        Function = "function",
        /// The program that ran.
        Program = "program",
        /// The cost category.
        Cause = "cause",
        /// `user` or `kernel`.
        Mode = "mode",
        /// The number of the address space.
        Context = "context",
        /// The number of the processor.
        Processor = "processor",
        /// The address of the code.
        Pc = "pc",
        /// The call stack.
        Stack = "stack",
        /// `data` or `instruction`.
        Side = "side",
        /// The set of the TLB.
        Set = "set",
        /// The address of the access.
        Address = "address",
        /// The page of that address, of 4 KB.
        Page = "page",
        /// Core cycles until hardware had loaded the entry, or until the call had ended.
        Cycles = "cycles",
        /// The page that lost its entry.
        Victim = "victim",
        /// The address space that had loaded that entry.
        VictimContext = "victim-context",
        /// The exception's name.
        Vector = "vector",
        /// The number of the processor that is interrupted.
        Target = "target",
        /// The functions that led there.
        Path = "path",
        /// The function that called.
        Caller = "caller",
    }
}

impl Field {
    /// Do events of this kind have it?
    fn is_of(self, kind: Kind) -> bool {
        match self {
            Field::Program | Field::Context | Field::Processor => true,
            Field::Function | Field::Cause | Field::Mode | Field::Pc => kind != Kind::Switch,
            Field::Stack => !matches!(kind, Kind::Switch | Kind::Call),
            Field::Side | Field::Set | Field::Address | Field::Page => {
                matches!(kind, Kind::Miss | Kind::Eviction)
            }
            Field::Cycles => matches!(kind, Kind::Miss | Kind::Call),
            Field::Caller => kind == Kind::Call,
            Field::Victim | Field::VictimContext => kind == Kind::Eviction,
            Field::Vector => kind == Kind::Exception,
            Field::Target | Field::Path => kind == Kind::Interrupt,
        }
    }

    fn is_number(self) -> bool {
        matches!(
            self,
            Field::Context
                | Field::Processor
                | Field::Pc
                | Field::Set
                | Field::Address
                | Field::Page
                | Field::Cycles
                | Field::Victim
                | Field::VictimContext
                | Field::Target
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Compare {
    pub(super) fn holds(self, order: Ordering) -> bool {
        match self {
            Compare::Equal => order.is_eq(),
            Compare::Unequal => order.is_ne(),
            Compare::Less => order.is_lt(),
            Compare::AtMost => order.is_le(),
            Compare::More => order.is_gt(),
            Compare::AtLeast => order.is_ge(),
        }
    }

    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "==" | "=" => Compare::Equal,
            "!=" => Compare::Unequal,
            "<" => Compare::Less,
            "<=" => Compare::AtMost,
            ">" => Compare::More,
            ">=" => Compare::AtLeast,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Number(u64),
    Word(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Condition {
    pub field: Field,
    pub compare: Compare,
    pub operand: Operand,
}

/// What to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    pub(super) kind: Kind,
    /// Only events of the instruction TLB, or of the data TLB.
    pub(super) fetch: Option<bool>,
    pub(super) keys: Vec<Field>,
    pub(super) measured: Option<Field>,
    pub(super) conditions: Vec<Condition>,
}

/// The longest query in bytes.
const LONGEST: usize = 4096;

impl Query {
    /// The function whose calls it counts.
    #[must_use]
    pub fn called(&self) -> Option<&str> {
        let equal = |one: &&Condition| {
            (one.field, one.compare) == (Field::Function, Compare::Equal) && self.kind == Kind::Call
        };
        let found = self.conditions.iter().find(equal)?;
        match &found.operand {
            Operand::Word(word) => Some(word),
            Operand::Number(_) => None,
        }
    }

    /// The names of what events are grouped by.
    #[must_use]
    pub fn keys(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name()).collect()
    }

    /// The name of what is measured.
    #[must_use]
    pub fn measured(&self) -> Option<&'static str> {
        self.measured.map(Field::name)
    }

    /// Does it need call stacks?
    #[must_use]
    pub fn needs_stacks(&self) -> bool {
        self.keys.contains(&Field::Stack)
    }

    /// The names that its conditions give in a field.
    pub fn words(&self, field: Field) -> impl Iterator<Item = &str> {
        let conditions = self.conditions.iter();
        conditions.filter_map(move |condition| match &condition.operand {
            Operand::Word(word) if condition.field == field => Some(&word[..]),
            _ => None,
        })
    }
}

/// Words, numbers, signs and texts in quotation marks.
fn words(text: &str) -> Result<Vec<(usize, String, bool)>, String> {
    let mut found = Vec::new();
    let bytes: Vec<(usize, char)> = text.char_indices().collect();
    let mut at = 0;
    while at < bytes.len() {
        let (place, first) = bytes[at];
        if first.is_whitespace() {
            at += 1;
            continue;
        }
        if matches!(first, '"' | '\'') {
            let rest = &bytes[at + 1..];
            let end = rest.iter().position(|&(_, c)| c == first);
            let end =
                end.ok_or_else(|| format!("the quotation mark at {} has no end", place + 1))?;
            found.push((place, rest[..end].iter().map(|&(_, c)| c).collect(), true));
            at += end + 2;
            continue;
        }
        let is_name = |c: char| c.is_alphanumeric() || "_.-/$@:+".contains(c);
        let is_sign = |c: char| "=!<>".contains(c);
        let same: &dyn Fn(char) -> bool = if is_name(first) {
            &is_name
        } else if is_sign(first) {
            &is_sign
        } else if matches!(first, ',' | '(' | ')') {
            &|_| false
        } else {
            return Err(format!("{first:?} at {} has no meaning", place + 1));
        };
        let start = at;
        at += 1;
        while at < bytes.len() && same(bytes[at].1) {
            at += 1;
        }
        let word = bytes[start..at].iter().map(|&(_, c)| c).collect();
        found.push((place, word, false));
    }
    Ok(found)
}

fn number(word: &str) -> Option<u64> {
    let plain = word.replace('_', "");
    match plain.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => plain.parse().ok(),
    }
}

/// The item with this name, or which names there are.
fn choose<T: Copy>(
    what: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
    word: &str,
) -> Result<T, String> {
    let found = all.iter().find(|&&item| name(item) == word);
    found.copied().ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|&item| name(item)).collect();
        format!("\"{word}\" is no {what}: there are {}", names.join(", "))
    })
}

struct Parser {
    words: Vec<(usize, String, bool)>,
    at: usize,
}

impl Parser {
    /// The next word, if it is this one.
    fn takes(&mut self, wanted: &str) -> bool {
        let is = self.peek() == Some(wanted);
        self.at += usize::from(is);
        is
    }

    fn peek(&self) -> Option<&str> {
        let (_, word, quoted) = self.words.get(self.at)?;
        (!quoted).then_some(word)
    }

    fn next(&mut self, what: &str) -> Result<String, String> {
        let word = self.words.get(self.at).map(|(_, word, _)| word.clone());
        self.at += 1;
        word.ok_or_else(|| format!("the query ends where {what} should stand"))
    }

    fn field(&mut self, kind: Kind) -> Result<Field, String> {
        let word = self.next("a field")?;
        let fields: Vec<Field> = Field::ALL
            .into_iter()
            .filter(|field| field.is_of(kind))
            .collect();
        let what = format!("field of {}", kind.name());
        choose(&what, &fields, Field::name, &word)
    }

    fn condition(&mut self, kind: Kind) -> Result<Condition, String> {
        let field = self.field(kind)?;
        if matches!(field, Field::Stack | Field::Path) {
            let name = field.name();
            return Err(format!(
                "a condition cannot name a {name}: name its function"
            ));
        }
        let sign = self.next("a comparison")?;
        let compare = Compare::of(&sign).ok_or_else(|| {
            format!("\"{sign}\" is no comparison: there are ==, !=, <, <=, > and >=")
        })?;
        let word = self.next("a value")?;
        let operand =
            if field.is_number() {
                let value = number(&word);
                Operand::Number(value.ok_or_else(|| {
                    format!("{} is a number, and \"{word}\" is none", field.name())
                })?)
            } else {
                if !matches!(compare, Compare::Equal | Compare::Unequal) {
                    return Err(format!(
                        "{} is a name: compare it by == or !=",
                        field.name()
                    ));
                }
                match field {
                    Field::Mode => {
                        choose("mode", &["user", "kernel"], |mode| mode, &word)?;
                    }
                    Field::Side => {
                        choose("side", &["data", "instruction"], |side| side, &word)?;
                    }
                    _ => {}
                }
                Operand::Word(word)
            };
        Ok(Condition {
            field,
            compare,
            operand,
        })
    }
}

impl FromStr for Query {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("the query has more than {LONGEST} bytes"));
        }
        let mut parser = Parser {
            words: words(text)?,
            at: 0,
        };
        let word =
            parser.next("a kind of event: miss, eviction, exception, switch, interrupt or call")?;
        let kind = choose("kind of event", &Kind::ALL, Kind::name, &word)?;
        let mut query = Query {
            kind,
            fetch: None,
            keys: Vec::new(),
            measured: None,
            conditions: Vec::new(),
        };
        if parser.takes("(") {
            let word = parser.next("data or instruction")?;
            if !Field::Side.is_of(kind) {
                return Err(format!(
                    "{} has no side: write it without brackets",
                    kind.name()
                ));
            }
            let side = choose("TLB", &["data", "instruction"], |side| side, &word)?;
            query.fetch = Some(side == "instruction");
            if !parser.takes(")") {
                return Err("a bracket is not closed".to_owned());
            }
        }
        while parser.at < parser.words.len() {
            if parser.takes("by") && query.keys.is_empty() {
                query.keys.push(parser.field(kind)?);
                while parser.takes(",") {
                    query.keys.push(parser.field(kind)?);
                }
            } else if parser.takes("where") && query.conditions.is_empty() {
                query.conditions.push(parser.condition(kind)?);
                while parser.takes("and") {
                    query.conditions.push(parser.condition(kind)?);
                }
            } else if parser.takes("histogram") && query.measured.is_none() {
                let field = parser.field(kind)?;
                if !field.is_number() {
                    return Err(format!(
                        "{} is a name, and a histogram is of numbers",
                        field.name()
                    ));
                }
                query.measured = Some(field);
            } else {
                let at = parser.at.saturating_sub(usize::from(matches!(
                    parser.words.get(parser.at.saturating_sub(1)),
                    Some((_, word, false)) if ["by", "where", "histogram"].contains(&&word[..])
                )));
                let (place, word, _) = &parser.words[at];
                return Err(format!(
                    "\"{word}\" at {} stands where by, where or histogram can stand, each once",
                    place + 1
                ));
            }
        }
        if kind == Kind::Call && query.called().is_none() {
            return Err("calls are those of one function: where function == NAME".to_owned());
        }
        Ok(query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        text.parse().unwrap()
    }

    #[test]
    fn what_a_query_says() {
        let found =
            query("miss(data) by function, page where cause == kernel and address >= 0x1000");
        assert_eq!(found.kind, Kind::Miss);
        assert_eq!(found.fetch, Some(false));
        assert_eq!(found.keys(), ["function", "page"]);
        assert_eq!(found.conditions.len(), 2);
        assert_eq!(found.conditions[1].operand, Operand::Number(0x1000));
        assert_eq!(query("switch").keys().len(), 0);
        let found = query("miss histogram cycles where function != \"f (x)\" by cause");
        assert_eq!(found.measured(), Some("cycles"));
        assert_eq!(found.words(Field::Function).collect::<Vec<_>>(), ["f (x)"]);
        assert!(query("eviction by stack").needs_stacks());
        assert_eq!(query("eviction where function == f").called(), None);
        let found = query("call by caller where processor > 0 and function == f histogram cycles");
        assert_eq!(found.called(), Some("f"));
    }

    #[test]
    fn what_is_no_query_is_refused_in_words() {
        for (text, words) in [
            ("", "ends where a kind"),
            ("mis", "no kind of event: there are miss"),
            ("miss(code)", "no TLB: there are data, instruction"),
            ("miss(data", "not closed"),
            ("switch(data)", "has no side"),
            ("switch by cause", "no field of switch"),
            ("miss by", "ends where a field"),
            ("miss by vector", "no field of miss"),
            ("miss where", "ends where a field"),
            ("miss where cause", "ends where a comparison"),
            ("miss where cause ==", "ends where a value"),
            ("miss where cause < kernel", "is a name"),
            ("miss where set == x", "is a number"),
            ("miss where set ~ 3", "has no meaning"),
            ("miss where function == \"x", "has no end"),
            ("miss where set => 3", "no comparison"),
            ("miss by set by page", "\"by\" at 13"),
            ("miss nonsense", "\"nonsense\" at 6"),
            ("miss histogram cause", "is of numbers"),
            ("miss where stack == 1", "cannot name a stack"),
            ("call by caller", "calls are those of one function"),
            (
                "call where function != f",
                "calls are those of one function",
            ),
            ("call by stack where function == f", "no field of call"),
            ("miss by caller", "no field of miss"),
        ] {
            let refused = text.parse::<Query>().unwrap_err();
            assert!(refused.contains(words), "{text}: {refused}");
        }
        assert!("miss ".repeat(2000).parse::<Query>().is_err());
    }
}
