//! The table of docs/machine.md, which says which folder may use which, agrees with the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Arrows = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The names between backticks.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The table of the page: what each folder uses.
fn allowed() -> Arrows {
    let page = std::fs::read_to_string(root().join("docs/machine.md")).expect("the page");
    page.lines()
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let columns: Vec<&str> = line.split('|').collect();
            let [_, folder, _, uses, _] = columns[..] else {
                panic!("a row has three columns: {line}");
            };
            let folder = names(folder).next().expect("a name").to_owned();
            (folder, names(uses).map(str::to_owned).collect())
        })
        .collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The word after each `crate::` in code. Comments, and unit tests at a file's end, do not count.
fn uses(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    let code: Vec<&str> = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect();
    let code = code.join("\n");
    let name = |text: &str| -> String {
        let text = text.trim_start();
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
        text[..end.unwrap_or(text.len())].to_owned()
    };
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        found.insert(name(&code[at + "crate::".len()..]));
    }
    found
}

/// What each folder uses in the sources.
fn used() -> Arrows {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&folder, &mut files);
    let mut arrows = Arrows::new();
    for path in files {
        let inner = path.strip_prefix(&folder).expect("a source");
        let first = inner.iter().next().expect("a name").to_string_lossy();
        let room = first.trim_end_matches(".rs").to_owned();
        // The runner uses the library from outside, and tests use what they like.
        if matches!(room.as_str(), "lib" | "main" | "arguments" | "constants")
            || inner.ends_with("tests.rs")
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        let others = uses(&text).into_iter().filter(|name| *name != room);
        arrows.entry(room.clone()).or_default().extend(others);
    }
    arrows
}

#[test]
fn the_map_is_true() {
    let (allowed, used) = (allowed(), used());
    assert!(allowed.len() > 10, "the table was found");
    for (folder, others) in &used {
        let listed = allowed
            .get(folder)
            .unwrap_or_else(|| panic!("docs/machine.md has no row for `{folder}`"));
        let more: Vec<_> = others.difference(listed).collect();
        assert!(
            more.is_empty(),
            "{folder} uses {more:?}, which docs/machine.md does not list"
        );
        let fewer: Vec<_> = listed.difference(others).collect();
        assert!(
            fewer.is_empty(),
            "docs/machine.md lists {fewer:?} for {folder}, which does not use it"
        );
    }
    for folder in allowed.keys() {
        assert!(
            used.contains_key(folder),
            "docs/machine.md has a row for `{folder}`, which is no folder"
        );
    }
}

/// The folders that can be reached from `folder` along arrows.
fn reached<'a>(arrows: &'a Arrows, folder: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = vec![folder];
    while let Some(folder) = next.pop() {
        for other in arrows.get(folder).into_iter().flatten() {
            if found.insert(other.as_str()) {
                next.push(other);
            }
        }
    }
    found
}

/// Arrows run one way. The one exception, and its reason, stand under "What may not be mixed".
#[test]
fn the_arrows_have_no_circle_but_one() {
    let arrows = used();
    let circle = arrows.keys().filter(|folder| {
        let reached = reached(&arrows, folder);
        reached.contains(folder.as_str())
    });
    assert_eq!(circle.collect::<Vec<_>>(), ["engine", "powerpc"]);
}

/// Architecture and speed are separate: the engine uses an instruction set through its own trait. It names the
/// processor that its handlers get, and that one's MMU.
#[test]
fn the_engine_knows_no_instruction_set() {
    let mut files = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine");
    sources(&folder, &mut files);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file");
        for (at, path) in text.match_indices("crate::powerpc::") {
            let rest = &text[at + path.len()..];
            assert!(
                rest.starts_with("mmu::") || rest.starts_with("processor::Processor"),
                "{} uses {path}{}",
                file.display(),
                rest.lines().next().unwrap_or("")
            );
        }
        for word in ["wimg", "WIMG", "BAT", "segment register", "PTE"] {
            assert!(!text.contains(word), "{} says \"{word}\"", file.display());
        }
    }
}
