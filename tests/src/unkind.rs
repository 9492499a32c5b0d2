//! Directories that nobody wrote kindly: records in any order and any file, what is no record between them, any key, links
//! instead of files, and one place that is damaged. What was hit is said to be damaged or is not there, never wrong; all
//! else is served.

use std::fs;
use std::os::unix::fs::symlink;

use bitcoin::Network;
use hindsight_shared::payload::{Absence, Payload, Prevouts};
use tempfile::TempDir;

use crate::client::Connection;
use crate::core_files::{Directory, Piece, Record, Records, flip, hash_of, undo_piece};
use crate::rng::Rng;
use crate::test_server::TestServer;

/// What was asked of the servers of these directories, and answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Directories.
    pub directories: u32,
    /// Blocks served whole, with their undo.
    pub whole: u32,
    /// Blocks or undo records that were said to be damaged.
    pub damaged: u32,
    /// Blocks or undo records that were not there.
    pub absent: u32,
}

/// A bit or an end: kind of file, number, offset of what was hit, and the first byte behind it.
pub type Hit = (&'static str, u32, usize, usize);

/// A directory from these records, arranged and damaged at random, served and asked for each of its blocks.
pub fn random(rng: &mut Rng, source: &Records, network: Network, count: &mut Count) {
    let directory = arranged(rng, source, network);
    let records = Records { blocks: found(&directory, "blk", source), undos: found(&directory, "rev", source) };
    let kind = ["blk", "rev"][rng.below(2)];
    let all = records.of(kind);
    let record = &all[rng.below(all.len())];
    let hit = match rng.below(3) {
        0 => Vec::new(),
        1 => {
            let at = record.offset - 8 + rng.below(record.payload.len() + 8);
            vec![flip_at(&directory, (kind, record.file), at, 1 << rng.below(8))]
        }
        _ => vec![cut(&directory, (kind, record.file), record.offset - 8 + rng.below(record.payload.len() + 8))],
    };
    let _elsewhere = linked(rng, &directory);
    check(&directory, &records, &hit, count);
}

/// A directory whose last two records of a kind are cut off at one of their bytes, of which the number is below
/// [`ends`].
pub fn cut_at_the_end(source: &Records, network: Network, kind: &'static str, end: usize, count: &mut Count) {
    let directory = Directory::new(network);
    let blocks = source.payloads();
    directory.write_pair(0, &blocks, source);
    let records = Records::read(&directory.blocks_dir(), network);
    let len = fs::metadata(directory.path(kind, 0)).unwrap().len() as usize;
    let hit = cut(&directory, (kind, 0), len - 1 - end);
    check(&directory, &records, &[hit], count);
}

/// A directory with one bit flipped in the size of one record, which then ends where the one after the next begins: what
/// is no record fills the gap behind the next.
pub fn lead_over_the_next(source: &Records, network: Network, (kind, at): (&'static str, usize), count: &mut Count) {
    let directory = Directory::new(network);
    let blocks = source.payloads();
    directory.write_pair(0, &blocks, source);
    let (all, extra) = (source.of(kind), if kind == "blk" { 0 } else { 32 });
    let (size, next) = (all[at].payload.len() - extra, all[at + 1].payload.len() + 8);
    let bit = (0..).find(|bit| 1 << bit >= next && size & (1 << bit) == 0).unwrap();
    let mut pieces: Vec<Piece> = if kind == "blk" {
        blocks.into_iter().map(Piece::Block).collect()
    } else {
        all.iter().map(undo_piece).collect()
    };
    pieces.insert(at + 2, Piece::Bytes(vec![0x55; (1 << bit) - next]));
    directory.write(kind, 0, &pieces);
    let records = Records { blocks: found(&directory, "blk", source), undos: found(&directory, "rev", source) };
    let record = &records.of(kind)[at];
    let offset = record.offset - 4 + bit / 8;
    let hit = flip_at(&directory, (kind, 0), offset, 1 << (bit % 8));
    check(&directory, &records, &[hit], count);
}

/// How many bytes the last two records of a kind have, framing included.
pub fn ends(source: &Records, kind: &str) -> usize {
    source.of(kind).iter().rev().take(2).map(|record| record.payload.len() + 8).sum()
}

/// Flips a bit of a file.
pub fn flip_at(directory: &Directory, (kind, file): (&'static str, u32), at: usize, mask: u8) -> Hit {
    flip(&directory.path(kind, file), at, mask);
    (kind, file, at, at + 1)
}

/// Cuts off what lies behind.
pub fn cut(directory: &Directory, (kind, file): (&'static str, u32), at: usize) -> Hit {
    let file_cut = fs::File::options().write(true).open(directory.path(kind, file)).unwrap();
    file_cut.set_len(at as u64).unwrap();
    (kind, file, at, usize::MAX)
}

fn arranged(rng: &mut Rng, source: &Records, network: Network) -> Directory {
    let mut directory = Directory::new(network);
    match rng.below(4) {
        0 => directory.set_key([0; 8]),
        1 => {
            directory.set_key([0; 8]);
            fs::remove_file(directory.blocks_dir().join("xor.dat")).unwrap();
        }
        _ => directory.set_key(rng.number().to_le_bytes()),
    }
    let mut blocks = source.payloads();
    let window = [1, 16, blocks.len()][rng.below(3)];
    rng.shuffle(&mut blocks, window);
    let files = 1 + rng.below(4);
    for (number, part) in (0..).zip(blocks.chunks(blocks.len().div_ceil(files))) {
        let mut undos: Vec<Piece> = part.iter().filter_map(|block| source.undo(block)).map(undo_piece).collect();
        let window = [1, 16, undos.len()][rng.below(3)];
        rng.shuffle(&mut undos, window);
        let pieces = part.iter().cloned().map(Piece::Block).collect();
        directory.write("blk", number, &littered(pieces, network, rng));
        directory.write("rev", number, &littered(undos, network, rng));
    }
    directory
}

/// Now and then what is no record between two of them; never in front, where it would say another network.
fn littered(pieces: Vec<Piece>, network: Network, rng: &mut Rng) -> Vec<Piece> {
    let mut out = Vec::new();
    for piece in pieces {
        out.push(piece);
        let magic = network.magic().to_bytes();
        let framed = |magic: [u8; 4], size: u32, rest: &[u8]| [&magic[..], &size.to_le_bytes(), rest].concat();
        let noise: Vec<u8> = (0..rng.below(2000)).map(|_| rng.number() as u8).collect();
        match rng.below(60) {
            0 => out.push(Piece::Zeros(1 + noise.len())),
            1 => out.push(Piece::Bytes(noise)),
            2 => out.push(Piece::Bytes(magic.repeat(1 + rng.below(40)))),
            // Another network's record.
            3 => out.push(Piece::Bytes(framed(Network::Signet.magic().to_bytes(), noise.len() as u32, &noise))),
            // Sizes that no record has, and one that leads into the middle of another.
            4 => {
                let size = [0, 1, 79, 4_000_001, 0x7fff_ffff, u32::MAX, 300][rng.below(7)];
                out.push(Piece::Bytes(framed(magic, size, &noise)));
            }
            _ => {}
        }
    }
    out
}

/// Links in place of the folder or of its files; where the real ones are now.
fn linked(rng: &mut Rng, directory: &Directory) -> Option<TempDir> {
    let (elsewhere, blocks) = (tempfile::tempdir().unwrap(), directory.blocks_dir());
    let place = elsewhere.path().join("of-blocks");
    directory.age();
    match rng.below(4) {
        0 => {
            fs::rename(&blocks, &place).unwrap();
            symlink(&place, &blocks).unwrap();
        }
        1 => {
            fs::create_dir(&place).unwrap();
            for entry in fs::read_dir(&blocks).unwrap().map(Result::unwrap) {
                let real = place.join(entry.file_name());
                fs::rename(entry.path(), &real).unwrap();
                symlink(real, entry.path()).unwrap();
            }
        }
        _ => return None,
    }
    Some(elsewhere)
}

/// Where each record of the source is in an arranged directory: found by its bytes.
fn found(directory: &Directory, kind: &str, source: &Records) -> Vec<Record> {
    let (all, key) = (source.of(kind), directory.key());
    let mut records = Vec::new();
    for file in (0..).take_while(|&file| directory.path(kind, file).exists()) {
        let plain = crate::core_files::xor(key, 0, &fs::read(directory.path(kind, file)).unwrap());
        let mut at = 0;
        while let Some(rest) = plain.get(at + 8..) {
            // Records begin with what tells them apart: the parent's hash, or values and the checksum behind them.
            match all.iter().find(|record| rest.starts_with(&record.payload)) {
                Some(record) => {
                    records.push(Record { file, offset: at + 8, payload: record.payload.clone() });
                    at += 8 + record.payload.len();
                }
                None => at += 1,
            }
        }
    }
    assert_eq!(records.len(), all.len(), "{kind}");
    records
}

/// Those that hit a record, its framing included.
fn hits_of<'a>(hits: &'a [Hit], kind: &'a str, record: &'a Record) -> impl Iterator<Item = &'a Hit> {
    let (from, to) = (record.offset - 8, record.offset + record.payload.len());
    hits.iter().filter(move |hit| hit.0 == kind && hit.1 == record.file && hit.2 < to && from < hit.3)
}

/// Whether a block is the last of its file and its last byte on disk is zero.
fn may_be_unfinished(directory: &Directory, records: &Records, record: &Record) -> bool {
    let is_last = records.blocks.iter().all(|other| other.file != record.file || other.offset <= record.offset);
    let last = record.offset + record.payload.len() - 1;
    is_last && record.payload.last() == Some(&directory.key()[last % 8])
}

/// Whether nothing but bits of a block was hit, behind its first `from` bytes: it is found and is not right.
fn is_flipped(hits: &[Hit], record: &Record, from: usize) -> bool {
    hits_of(hits, "blk", record).all(|(_, _, at, end)| *end == at + 1 && *at >= record.offset + from)
}

/// Serves a directory, and holds each of its records, and what is said of it, against these and what was hit.
#[track_caller]
pub fn check(directory: &Directory, records: &Records, hits: &[Hit], count: &mut Count) {
    if !directory.blocks_dir().is_symlink() {
        directory.age();
    }
    let server = TestServer::start(directory.datadir());
    let mut connection = Connection::open(server.address).unwrap();
    count.directories += 1;
    for record in &records.blocks {
        let path = format!("/api/v1/block/{}/payload", hash_of(&record.payload));
        let response = connection.request("GET", &path, &[]).unwrap();
        let undo = records.undo(&record.payload);
        let context = || format!("{path} of {}:{} after {hits:?}", record.file, record.offset);
        if hits_of(hits, "blk", record).next().is_some() && response.status != 200 {
            // Header and count of transactions decide whether it is a record at all; one that ends in a raw zero may be
            // one that is being written, where it is the last.
            if is_flipped(hits, record, 84) && !may_be_unfinished(directory, records, record) {
                let place = format!("is damaged on disk: in blk{:05}.dat at offset {}", record.file, record.offset);
                assert!(
                    response.status == 500 && response.text().contains(&place),
                    "{}: {}",
                    context(),
                    response.text()
                );
                count.damaged += 1;
            } else {
                assert!([404, 410, 500].contains(&response.status), "{}: {}", context(), response.text());
                count.absent += 1;
            }
            continue;
        }
        assert_eq!(response.status, 200, "{}: {}", context(), response.text());
        let payload = Payload::decode(&response.body).unwrap();
        assert!(payload.block == record.payload, "{}: other bytes", context());
        match payload.prevouts {
            Prevouts::Undo(bytes) => assert!(undo.is_some_and(|undo| undo.payload == bytes), "{}: other", context()),
            _ if undo.is_none() => assert_eq!(payload.absence, Some(Absence::Genesis), "{}", context()),
            _ => {
                let is_hit = undo.is_some_and(|undo| hits_of(hits, "rev", undo).next().is_some());
                assert!(is_hit, "{}: {:?}", context(), payload.absence);
                if payload.absence == Some(Absence::Damaged) {
                    count.damaged += 1
                } else {
                    count.absent += 1
                }
                continue;
            }
        }
        count.whole += 1;
    }
}
