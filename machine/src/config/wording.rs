//! The TOML reader's messages in plain English.

/// The message for a person. `given` is the value as it was written, where that is known.
pub(super) fn in_plain_english(message: &str, given: Option<&str>) -> String {
    let message = message.trim_end();
    let wrong_value = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|start| message.strip_prefix(start))
        .and_then(|rest| rest.rsplit_once(", expected "));
    if let Some((found, wanted)) = wrong_value {
        let shown = given.map_or_else(|| found_value(found), quoted);
        return format!("{shown} is not {}", wanted_value(wanted));
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
    let whole = |most: u64| format!("a whole number from 0 to {most}");
    match wanted {
        "u8" => whole(u8::MAX.into()),
        "u16" => whole(u16::MAX.into()),
        "u32" => whole(u32::MAX.into()),
        // TOML's numbers are signed.
        "u64" | "usize" => whole(i64::MAX as u64),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "string only" => "a word in quotes".to_owned(),
        _ if wanted.starts_with("struct ") => "a table of keys".to_owned(),
        _ => wanted.to_owned(),
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
