//! nginx with the settings that its users serve files with.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result};

use crate::contestant::{Contestant, free_address};
use crate::session::{Server, command};

/// Debian keeps it where users' paths do not lead.
const PLACES: [&str; 3] = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/opt/homebrew/bin/nginx"];

/// Finds it.
pub fn find() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).map(|dir| dir.join("nginx")).chain(PLACES.map(PathBuf::from));
    let mut found = places.filter(|place| place.is_file());
    found.next().context("nginx is not installed (Debian: apt install nginx-light): there is nothing to compare with")
}

/// Starts it on these files, given by path and bytes: once with sendfile, as everybody has it, and once without, since on
/// loopback copying through a buffer can be the quicker way.
pub fn start(nginx: &Path, files: &[(String, Vec<u8>)]) -> Result<[Contestant; 2]> {
    let (dir, address, copying) = (tempfile::tempdir()?, free_address()?, free_address()?);
    for (path, bytes) in files {
        let file = dir.path().join("files").join(path.trim_start_matches('/'));
        std::fs::create_dir_all(file.parent().context("a file lies in a directory")?)?;
        std::fs::write(file, bytes)?;
    }
    let config = dir.path().join("nginx.conf");
    let here = dir.path().display().to_string();
    // Workers of a master that is root give up its rights, and could not read the directory.
    let user = if rustix::process::getuid().is_root() { "user root;" } else { "" };
    let addresses = CONFIG.replace("ADDRESS", &address.to_string()).replace("COPYING", &copying.to_string());
    std::fs::write(&config, format!("{user}\n{}", addresses.replace("HERE", &here)))?;
    let mut command = command(nginx.as_os_str())?;
    command.arg("-c").arg(config).arg("-e").arg(dir.path().join("error.log"));
    let server = Rc::new(Server::start(&mut command)?);
    let dir = Rc::new(dir);
    let contestant = |name, address| Contestant { name, address, server: server.clone(), dir: dir.clone() };
    Ok([contestant("nginx copy", copying), contestant("nginx", address)])
}

const CONFIG: &str = "
daemon off;
worker_processes auto;
pid HERE/pid;
error_log HERE/error.log;
events { worker_connections 1024; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    open_file_cache max=100;
    default_type application/octet-stream;
    client_body_temp_path HERE/body;
    proxy_temp_path HERE/proxy;
    fastcgi_temp_path HERE/fastcgi;
    uwsgi_temp_path HERE/uwsgi;
    scgi_temp_path HERE/scgi;
    server { listen ADDRESS; root HERE/files; }
    server { listen COPYING; root HERE/files; sendfile off; output_buffers 1 2m; }
}
";
