//! `hindsight check`: what is checked, what is compared, and how it is told.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use hindsight::app::{App, index_folder};
use hindsight::check::{Answers, Options, Remote, Sample, check, compare, ready};
use hindsight::config::{Config, SourceArgs};
use hindsight::index::{Index, IndexError};
use hindsight::ingest::Keeper;
use hindsight::source::{CoreFiles, Datadir, DatadirOptions};

/// Damage, or differences: unlike an error, which is 1.
const FOUND: u8 = 2;

/// How often progress is told.
const EVERY: Duration = Duration::from_millis(200);

#[derive(Args, Debug)]
pub struct Check {
    #[command(flatten)]
    pub source: SourceArgs,
    /// Where hindsight keeps its index, as for serve [default: ~/.local/share/hindsight]
    ///
    /// The index of this node's network is only looked at. If there is none, or a running server has it open, that is
    /// said, and the files are checked alone.
    #[arg(long, value_name = "DIR", env = "HINDSIGHT_INDEX_DIR")]
    pub index_dir: Option<PathBuf>,
    /// Read only this many blocks, spread over all of them, instead of every block
    ///
    /// All files are walked all the same: header by header, and every row of the index is looked at. But only the chosen
    /// blocks are read whole, their statistics recomputed, and undo checked in the files that hold them. With --against
    /// only their payloads and statistics are compared, beside the hashes of all.
    #[arg(long, value_name = "N")]
    sample: Option<u64>,
    /// Choose the same blocks as an earlier run with --sample, which has printed its seed
    #[arg(long, value_name = "SEED", requires = "sample")]
    seed: Option<u64>,
    /// Compare with what another instance answers, instead of looking for damage
    ///
    /// The first instance is this data directory with its index; a running server may have it open, then the files alone
    /// speak for it. The other one is: a running server, as http://HOST:PORT/ (https is not spoken); or another index
    /// directory (what --index-dir names, or a network's folder in it), with the blocks directory that it was made for;
    /// or another data or blocks directory, read without an index. Compared are the tip, the block hash at every height
    /// of the best chain, and of every block all bytes of its payload and of its row of statistics. Each difference is
    /// told with height and hash, the first hundred of them in words.
    #[arg(long, value_name = "URL|DIR")]
    against: Option<String>,
}

/// Checks, or compares.
pub fn run(config: &Config, args: &Check) -> Result<ExitCode> {
    let files = Arc::new(CoreFiles::open(Datadir::open(&config.datadir)?)?);
    println!("checking {}", files.datadir().blocks_dir.display());
    let sample = args.sample.map(|count| Sample::new(count, args.seed));
    if let Some(Sample { count, seed }) = sample {
        println!("a sample of {count} blocks: choose the same ones again with --sample {count} --seed {seed}");
    }
    let (index, damage) = look_at_index(&files, &config.index_dir);
    let clean = match &args.against {
        None => look_for_damage(&files, index.as_ref(), sample)?,
        Some(other) => compare_with(files, index, other, config, sample)?,
    };
    if let Some(damage) = &damage {
        println!("{damage}");
    }
    Ok(if clean && damage.is_none() { ExitCode::SUCCESS } else { ExitCode::from(FOUND) })
}

fn look_for_damage(files: &CoreFiles, index: Option<&Index>, sample: Option<Sample>) -> Result<bool> {
    let mut teller = Teller::new();
    let report = check(files, Options { index, sample }, |progress| teller.tell(&progress))?;
    teller.end();
    for damage in &report.damage {
        println!("{damage}");
    }
    if let Some(index) = &report.index {
        index.wrong.iter().for_each(|wrong| println!("{wrong}"));
        tell_rest(index.wrong_rows, index.wrong.len(), "wrong rows");
    }
    println!("{report}");
    Ok(report.is_clean())
}

/// The index of these files, and in what way it is damaged as a whole; why it is left out is printed.
fn look_at_index(files: &CoreFiles, index_dir: &Path) -> (Option<Index>, Option<String>) {
    let dir = index_dir.join(index_folder(files.datadir()));
    let alone = "the files are checked alone";
    match Index::look(&dir, &Keeper::identity(files)) {
        Ok(Some(index)) => {
            println!("with the index in {}", dir.display());
            return (Some(index), None);
        }
        Ok(None) => println!("there is no index in {}: {alone}", dir.display()),
        Err(IndexError::InUse { path }) => println!(
            "the index {} is in use by a running hindsight: {alone}. Stop it to have its index checked, or compare with \
             what it answers: --against http://HOST:PORT/",
            path.display()
        ),
        Err(error) if error.is_damage() => {
            println!("the index in {} cannot be opened: {alone}", dir.display());
            return (None, Some(format!("{error}: the next start of serve sets it aside and builds it anew")));
        }
        Err(error) => println!("{error}; {alone}"),
    }
    (None, None)
}

fn compare_with(
    files: Arc<CoreFiles>,
    index: Option<Index>,
    other: &str,
    config: &Config,
    sample: Option<Sample>,
) -> Result<bool> {
    let here = instance(files.clone(), index)?;
    let there = Other::open(other, &index_folder(files.datadir()), config)?;
    println!("against {}", there.name);
    let mut teller = Teller::new();
    for instance in [&*here.explorer, there.answers()] {
        let status = ready(instance, |done, all| teller.tell(&format!("{done} of {all} files walked")))?;
        status.warnings.iter().for_each(|warning| println!("{warning}"));
    }
    let found = compare((&*here.explorer, there.answers()), sample, |progress| teller.tell(&progress))?;
    teller.end();
    found.differences.iter().for_each(|difference| println!("{difference}"));
    tell_rest(found.differ, found.differences.len(), "differences");
    println!("{found}");
    Ok(found.differ == 0)
}

/// An explorer that leaves no trace, with the index that is looked at, or without one.
fn instance(files: Arc<CoreFiles>, index: Option<Index>) -> Result<App> {
    let index = index.map_or_else(|| Index::in_memory(&Keeper::identity(&files)), Ok)?;
    Ok(App::look(files, index)?)
}

/// The instance to compare with.
struct Other {
    name: String,
    instance: Instance,
}

enum Instance {
    Server(Remote),
    Here(App),
}

impl Other {
    /// A server, an index directory, or a data directory.
    fn open(other: &str, folder: &str, config: &Config) -> Result<Self> {
        if other.contains("://") {
            return Ok(Self { name: other.to_owned(), instance: Instance::Server(Remote::new(other)?) });
        }
        let dir = Path::new(other);
        for dir in [dir.join(folder), dir.to_owned()] {
            let closed = || format!("{other} cannot be looked at: if a server has it open, give that server's URL");
            if let Some(owner) = Index::owner(&dir).with_context(closed)? {
                let files = open_files(owner.blocks_dir, config)
                    .with_context(|| format!("the blocks of the index in {}", dir.display()))?;
                let index = Index::look(&dir, &Keeper::identity(&files))?;
                let name = format!("the index in {}, of {}", dir.display(), files.datadir().blocks_dir.display());
                return Ok(Self { name, instance: Instance::Here(instance(files, index)?) });
            }
        }
        let files = open_files(dir.to_owned(), config)
            .with_context(|| format!("{other} is no URL, and no directory of an index or of blocks"))?;
        let name = files.datadir().blocks_dir.display().to_string();
        Ok(Self { name, instance: Instance::Here(instance(files, None)?) })
    }

    fn answers(&self) -> &dyn Answers {
        match &self.instance {
            Instance::Server(server) => server,
            Instance::Here(app) => &*app.explorer,
        }
    }
}

fn open_files(dir: PathBuf, config: &Config) -> Result<Arc<CoreFiles>> {
    let options = DatadirOptions { datadir: dir, blocksdir: None, ..config.datadir.clone() };
    Ok(Arc::new(CoreFiles::open(Datadir::open(&options)?)?))
}

fn tell_rest(all: u64, told: usize, what: &str) {
    match all.saturating_sub(told as u64) {
        0 => {}
        more => println!("and {more} more {what}"),
    }
}

/// Tells progress on one line, now and then.
struct Teller {
    told: Option<Instant>,
}

impl Teller {
    fn new() -> Self {
        Self { told: None }
    }

    fn tell(&mut self, progress: &impl ToString) {
        if self.told.is_none_or(|told| told.elapsed() >= EVERY) {
            eprint!("\r{:<48}", progress.to_string());
            self.told = Some(Instant::now());
        }
    }

    /// Leaves an empty line for what comes next.
    fn end(&self) {
        if self.told.is_some() {
            eprint!("\r{:<48}\r", "");
        }
    }
}
