//! A state that a person or a program can read.

use std::fmt::{Debug, Display};

use serde_json::Value;

/// The state of translation and caches at an instant, as each architecture shows its own: as text, and as JSON.
pub trait Shown: Clone + Debug + Display {
    fn to_json(&self) -> Value;
}

/// Text alone.
impl Shown for String {
    fn to_json(&self) -> Value {
        Value::from(self.as_str())
    }
}
