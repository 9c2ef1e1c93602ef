//! Why an image cannot be loaded.

use thiserror::Error;

/// An image or a file that the machine cannot take. The message names the file and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoadError {
    #[error("{file}: {message}")]
    Unreadable { file: String, message: String },
    #[error("{file}: {message}; allowed is a static ELF executable for 32-bit big-endian PowerPC")]
    NotExecutable { file: String, message: String },
    #[error("{file}: {message}; allowed is a static ELF executable for the i386")]
    NotForI386 { file: String, message: String },
    #[error("{file}: {message}; allowed is a static ELF executable for RISC-V of 64 bits")]
    NotForRiscv { file: String, message: String },
    /// The same of what may be a Linux, too.
    #[error(
        "{file}: {message}; allowed is a static ELF executable for RISC-V of 64 bits or a Linux Image"
    )]
    NoRiscvKernel { file: String, message: String },
    #[error("{file}: {message}")]
    DoesNotFit { file: String, message: String },
    #[error("{file}: section cause `{name}`: {message}")]
    BadCause {
        file: String,
        name: String,
        message: String,
    },
    /// A kernel that was built for another machine.
    #[error("{file}: {message}")]
    OtherMachine { file: String, message: String },
    #[error("{file}: {message}")]
    BadCauses { file: String, message: String },
    #[error("device tree: {message}")]
    BadTree { message: String },
}

impl LoadError {
    /// A Linux Image would have been allowed.
    pub(crate) fn or_image(self) -> LoadError {
        match self {
            LoadError::NotForRiscv { file, message } => LoadError::NoRiscvKernel { file, message },
            other => other,
        }
    }

    /// What the file of this name holds does not fit the machine.
    pub(crate) fn unfit(file: &str, message: impl Into<String>) -> LoadError {
        LoadError::DoesNotFit {
            file: file.to_owned(),
            message: message.into(),
        }
    }
}

impl From<vm_fdt::Error> for LoadError {
    fn from(error: vm_fdt::Error) -> LoadError {
        let message = match error {
            vm_fdt::Error::InvalidString => "the command line holds a NUL byte".to_owned(),
            other => other.to_string(),
        };
        LoadError::BadTree { message }
    }
}
