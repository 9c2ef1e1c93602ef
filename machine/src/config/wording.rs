//! The TOML reader's messages in plain English.

/// The message for a person. `given` is the value as it was written, where that is known; `allowed` says which whole
/// numbers the key allows, if they are fewer than its type has.
pub(super) fn in_plain_english(
    message: &str,
    given: Option<&str>,
    allowed: Option<String>,
) -> String {
    let message = message.trim_end();
    if let Some((found, wanted)) = wrong_value(message) {
        let shown = given.map_or_else(|| found_value(found), quoted);
        let wanted = allowed.map_or_else(|| wanted_value(wanted), allowed_value);
        return format!("{shown} is not {wanted}");
    }
    // A key that takes one of some names has a value of another kind.
    if message == "wanted string or table" || message.starts_with("wanted exactly 1 element") {
        let shown = given.map_or_else(|| "this value".to_owned(), quoted);
        return format!("{shown} is not a word in quotes");
    }
    for (theirs, ours) in [
        ("unknown field ", "unknown key "),
        ("unknown variant ", "unknown name "),
        ("missing field ", "missing key "),
    ] {
        if let Some(rest) = message.strip_prefix(theirs) {
            return with_suggestion(&format!("{ours}{rest}"));
        }
    }
    message.to_owned()
}

/// What the reader found, and what it wanted.
fn wrong_value(message: &str) -> Option<(&str, &str)> {
    ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|start| message.trim_end().strip_prefix(start))
        .and_then(|rest| rest.rsplit_once(", expected "))
}

/// The greatest number of the type that the reader wanted, if that is one of whole numbers.
pub(super) fn whole_number_most(message: &str) -> Option<i64> {
    type_most(wrong_value(message)?.1)
}

fn type_most(name: &str) -> Option<i64> {
    match name {
        "u8" => Some(u8::MAX.into()),
        "u16" => Some(u16::MAX.into()),
        "u32" => Some(u32::MAX.into()),
        // TOML's numbers are signed.
        "u64" | "usize" => Some(i64::MAX),
        _ => None,
    }
}

fn quoted(value: &str) -> String {
    if value.is_empty() {
        "an empty value".to_owned()
    } else {
        format!("`{value}`")
    }
}

/// From serde's description, such as "string "fast"", "integer `-1`" or "sequence".
fn found_value(found: &str) -> String {
    for mark in ['`', '"'] {
        if let (Some(first), Some(last)) = (found.find(mark), found.rfind(mark))
            && first < last
        {
            return quoted(&found[first + 1..last]);
        }
    }
    match found {
        "sequence" => "a list",
        "map" => "a table of keys",
        _ => "this value",
    }
    .to_owned()
}

/// From the type that serde names.
fn wanted_value(wanted: &str) -> String {
    if let Some(most) = type_most(wanted) {
        return format!("a whole number from 0 to {most}");
    }
    match wanted {
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "string only" => "a word in quotes".to_owned(),
        _ if wanted.starts_with("struct ") => "a table of keys".to_owned(),
        _ => wanted.to_owned(),
    }
}

/// From what the checks allow: "1 to 8", or "powers of two from 1 to 64".
fn allowed_value(allowed: String) -> String {
    if allowed.starts_with(|first: char| first.is_ascii_digit()) {
        format!("a whole number from {allowed}")
    } else {
        format!("one of the {allowed}")
    }
}

/// Adds the nearest allowed name to "unknown key `x`, expected one of `a`, `b`".
fn with_suggestion(message: &str) -> String {
    if !message.starts_with("unknown ") {
        return message.to_owned();
    }
    let mut names = message.split('`').skip(1).step_by(2);
    let Some(given) = names.next() else {
        return message.to_owned();
    };
    match names.min_by_key(|name| edit_distance(given, name)) {
        Some(nearest) if edit_distance(given, nearest) <= given.len().max(nearest.len()) / 2 => {
            format!("{message} (nearest: `{nearest}`)")
        }
        _ => message.to_owned(),
    }
}

/// Levenshtein distance in bytes.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
