//! Whose file it is, for the first error a self-hoster meets: "permission denied".
//!
//! Names come from `/etc/passwd` alone, because the C library's look-up would need unsafe code; where the user is not
//! listed there (directory services, macOS accounts) the number is shown.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The owner of a file: number, and name where `/etc/passwd` knows one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    uid: Option<u32>,
    name: Option<String>,
}

impl Owner {
    /// The nearest of `path` and its parents that can be looked at, and its owner: that one refuses to be entered.
    pub(super) fn of_nearest(path: &Path) -> (PathBuf, Owner) {
        let nearest = path.ancestors().find_map(|p| Some((p, fs::metadata(p).ok()?.uid())));
        match nearest {
            Some((denied, uid)) => (denied.into(), Owner { uid: Some(uid), name: user_name(uid) }),
            None => (path.into(), Owner { uid: None, name: None }),
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.uid) {
            (Some(name), Some(uid)) => write!(f, "user {name} (uid {uid})"),
            (None, Some(uid)) => write!(f, "uid {uid}"),
            _ => write!(f, "an unknown user"),
        }
    }
}

fn user_name(uid: u32) -> Option<String> {
    name_in(&fs::read_to_string("/etc/passwd").ok()?, uid)
}

/// The name with number `uid` in the text of a passwd file: `name:password:uid:…` a line.
fn name_in(passwd: &str, uid: u32) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_by_its_number() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nbroken\nbitcoin:x:1001:1001::/home/bitcoin:/bin/sh\n";
        assert_eq!(name_in(passwd, 1001).as_deref(), Some("bitcoin"));
        assert_eq!(name_in(passwd, 7), None);
    }

    #[test]
    fn the_nearest_existing_parent_answers_for_a_missing_file() {
        let dir = tempfile::tempdir().unwrap();
        let (denied, owner) = Owner::of_nearest(&dir.path().join("blocks/blk00000.dat"));
        assert_eq!(denied, dir.path());
        assert_eq!(owner.uid, Some(fs::metadata(dir.path()).unwrap().uid()));
    }
}
