//! What can go wrong with the index, and what its owner can do.

use std::io;
use std::path::{Path, PathBuf};

use crate::runs::PageError;

/// Why the index cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// It was made for another network or directory.
    #[error(
        "the index {path} belongs to {what} {found}, not {asked}: give another --index-dir, or delete the file to have it built anew"
    )]
    Foreign {
        /// The index.
        path: PathBuf,
        /// What differs.
        what: &'static str,
        /// What it belongs to.
        found: String,
        /// What was asked for.
        asked: String,
    },
    /// Another version of Hindsight made it.
    #[error(
        "the index {path} was made by another version of hindsight (this one writes form {ours}): give another --index-dir, or delete the file to have it built anew"
    )]
    Version {
        /// The index.
        path: PathBuf,
        /// The version that this program writes.
        ours: u32,
    },
    /// Another process has it open.
    #[error("the index {path} is in use by another hindsight: stop that one, or give another --index-dir")]
    InUse {
        /// The index.
        path: PathBuf,
    },
    /// The directory cannot be written.
    #[error("the index directory {path} cannot be used: {reason}: give another --index-dir, or mend its permissions")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// There is no room for it.
    #[error("the index {path} cannot be written: {reason}: make room on its disk, or give another --index-dir")]
    Full {
        /// The index.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// redb reports an error.
    #[error("the index {path}: {error}")]
    Redb {
        /// The index.
        path: PathBuf,
        /// What redb says.
        error: Box<redb::Error>,
    },
    /// A page of a run is damaged; the run is made anew.
    #[error("{0}")]
    Page(#[from] PageError),
    /// redb panicked, which it does on some damage.
    #[error("the index is damaged: reading it panicked")]
    Panicked,
}

impl IndexError {
    pub(super) fn redb(path: &Path, error: impl Into<redb::Error>) -> Self {
        match error.into() {
            redb::Error::Io(error)
                if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) =>
            {
                Self::directory(path, &error)
            }
            redb::Error::Io(error)
                if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) =>
            {
                Self::Full { path: path.to_owned(), reason: error.to_string() }
            }
            error => Self::Redb { path: path.to_owned(), error: Box::new(error) },
        }
    }

    pub(super) fn directory(path: &Path, error: &io::Error) -> Self {
        Self::Directory { path: path.to_owned(), reason: error.to_string() }
    }

    /// Whether redb refuses everything until the file is opened anew.
    pub(super) fn is_latched(&self) -> bool {
        match self {
            Self::Full { .. } => true,
            Self::Redb { error, .. } => matches!(**error, redb::Error::PreviousIo | redb::Error::Io(_)),
            _ => false,
        }
    }

    /// Whether the file's content, not its surroundings, is at fault.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Panicked => true,
            Self::Redb { error, .. } => match &**error {
                redb::Error::Io(error) => {
                    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
                }
                redb::Error::Corrupted(_)
                | redb::Error::RepairAborted
                | redb::Error::UpgradeRequired(_)
                | redb::Error::TableTypeMismatch { .. }
                | redb::Error::TypeDefinitionChanged { .. } => true,
                _ => false,
            },
            _ => false,
        }
    }
}
