//! Every trap that Core's block and undo files are known to hold, on directories made of real records.

mod datadir;
mod files;
mod hostile;
mod lost;
mod pair;
mod support;
mod twins;
mod walk;
mod watch;
