//! Servers in sessions of their own: in the session of the load generator the kernel's autogrouping sets the two
//! against each other, which shows as stalls at one connection that no user would see.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use anyhow::{Context, Error, Result};

/// Tells this program that it is to become a server.
const BECOME: &str = "--become";

/// A command that runs `program` in a new session, under the same process id.
pub fn command(program: &OsStr) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(BECOME).arg(program);
    Ok(command)
}

/// If this process was started by [`command`]: makes the session and becomes the server. Returns only to say why not.
pub fn become_server() -> Option<Error> {
    let mut args = std::env::args_os().skip(1);
    if args.next()? != BECOME {
        return None;
    }
    let program = args.next()?;
    if let Err(error) = rustix::process::setsid() {
        return Some(Error::new(error).context("no session of its own"));
    }
    let error = Command::new(&program).args(args).exec();
    Some(Error::new(error).context(format!("cannot start {}", program.display())))
}

/// A server that is told to end when it is dropped.
#[derive(Debug)]
pub struct Server(Child);

impl Server {
    /// Starts it.
    pub fn start(command: &mut Command) -> Result<Self> {
        Ok(Self(command.spawn().context("a server cannot be started")?))
    }

    /// Seconds of CPU time that all processes of its session have taken, as far as they are alive.
    pub fn cpu_seconds(&self) -> Result<f64> {
        let session = self.0.id().to_string();
        let mut ticks = 0;
        for entry in std::fs::read_dir("/proc").context("CPU times are read from /proc")? {
            let Some(fields) = stat(&entry?.path()) else { continue };
            if fields.get(3) == Some(&session) {
                ticks += fields[11..13].iter().filter_map(|field| field.parse::<u32>().ok()).sum::<u32>();
            }
        }
        Ok(f64::from(ticks) / f64::from(u32::try_from(rustix::param::clock_ticks_per_second())?))
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&self) -> Result<bool> {
        let fields = stat(&Path::new("/proc").join(self.0.id().to_string())).context("a server is gone")?;
        Ok(fields.first().is_some_and(|state| state == "Z"))
    }
}

/// What the system tells of a process, from its state on: state, ppid, pgrp, session, …, utime (the 12th), stime.
fn stat(process: &Path) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(process.join("stat")).ok()?;
    // The name in front of it, in brackets, may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(fields.split(' ').map(str::to_owned).collect())
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw) {
            // SIGTERM, so that nginx ends its workers too.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = self.0.wait();
    }
}
