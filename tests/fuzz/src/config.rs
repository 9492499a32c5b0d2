//! Settings: any text as the TOML file and as flags; what both can say, both say the same.

use std::iter::once;
use std::path::Path;

use clap::{CommandFactory, FromArgMatches, Parser};
use hindsight::config::{Config, File, IndexArgs, ServerArgs, SourceArgs, hosts};

/// The flags of `hindsight serve`.
#[derive(Debug, Parser)]
struct Flags {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    index: IndexArgs,
}

/// Reads `bytes` as the text of a settings file, and its lines as flags.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(flags) = flags(text.lines().map(str::to_owned))
        && let Ok(config) = resolve_flags(flags)
    {
        holds_together(&config);
    }
    let Ok(file) = File::parse(&text, Path::new("hindsight.toml")) else { return };
    let of_file = Config::resolve(file, SourceArgs::default(), ServerArgs::default(), IndexArgs::default());
    if let Ok(config) = &of_file {
        holds_together(config);
    }
    let table: toml::Table = text.parse().expect("what has been read as settings is TOML");
    let Some(arguments) = arguments(&table) else { return };
    // What clap refuses of this is a matter of its own; what it takes means the same.
    let Some(flags) = flags(arguments.into_iter()) else { return };
    let of_flags = resolve_flags(flags);
    assert_eq!(of_flags.is_ok(), of_file.is_ok(), "{of_flags:?} {of_file:?}");
    if let (Ok(of_flags), Ok(of_file)) = (of_flags, of_file) {
        assert_eq!(format!("{of_flags:?}"), format!("{of_file:?}"));
    }
}

/// Variables of this process are not what is tried.
fn flags(arguments: impl Iterator<Item = String>) -> Option<Flags> {
    let command = Flags::command().mut_args(|argument| argument.env("HINDSIGHT_NOTHING"));
    let matches = command.try_get_matches_from(once("hindsight".to_owned()).chain(arguments)).ok()?;
    Some(Flags::from_arg_matches(&matches).expect("what has been matched is there"))
}

fn resolve_flags(flags: Flags) -> Result<Config, String> {
    let config = Config::resolve(File::default(), flags.source, flags.server, flags.index);
    config.map_err(|error| format!("{error:#}"))
}

/// The settings of a file as flags; `None` where flags cannot say the same: a list is split at commas there, a shell
/// expands `~`, and nothing is no path.
fn arguments(table: &toml::Table) -> Option<Vec<String>> {
    let mut arguments = Vec::new();
    for (name, value) in table.iter().filter(|(name, _)| *name != "log") {
        let values = value.as_array().map_or_else(|| vec![value.clone()], Vec::clone);
        for value in values {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if text.is_empty() || text.starts_with('~') || text.contains(',') {
                return None;
            }
            arguments.push(format!("--{}={text}", name.replace('_', "-")));
        }
    }
    Some(arguments)
}

fn holds_together(config: &Config) {
    assert_eq!(hosts(&config.hosts).ok().as_ref(), Some(&config.hosts), "names are read as they were understood");
    assert!(config.hosts.iter().all(|name| !name.is_empty() && !name.contains(char::is_whitespace)));
    assert_eq!(config.cache_bytes % (1 << 20), 0);
}
