//! Runs as rows of the store: written and deleted within somebody's transaction.

use redb::{ReadTransaction, ReadableTable, TableError, WriteTransaction};

use super::entries::{sealed, sealed_page, unsealed};
use super::run_list::RunList;
use super::tables::{HEIGHT_TO_SIZES, LIVE, LIVE_RUNS, PageTable, RUN_TO_HEAD, page_table};
use crate::runs::hashes::Prefix;
use crate::runs::run::{Kind, Packed, PageKey, Run, SizePages};

/// The list of live runs, as a reader sees it.
pub fn list(transaction: &ReadTransaction) -> Result<RunList, redb::Error> {
    match transaction.open_table(LIVE) {
        Err(TableError::TableDoesNotExist(_)) => Ok(RunList::default()),
        table => read_list_of(&table?),
    }
}

/// The same, as a writer sees it.
pub fn read_list(transaction: &WriteTransaction) -> Result<RunList, redb::Error> {
    read_list_of(&transaction.open_table(LIVE)?)
}

/// A list that is damaged names no run: all are made anew.
fn read_list_of(table: &impl ReadableTable<&'static str, &'static [u8]>) -> Result<RunList, redb::Error> {
    let found = table.get(LIVE_RUNS)?;
    Ok(found.and_then(|value| RunList::unpack(unsealed(value.value())?)).unwrap_or_default())
}

/// Puts another list in force.
pub fn write_list(transaction: &WriteTransaction, list: &RunList) -> Result<(), redb::Error> {
    transaction.open_table(LIVE)?.insert(LIVE_RUNS, &sealed(list.pack())[..])?;
    Ok(())
}

/// Writes a run; it is not on the list yet.
pub fn write_run(transaction: &WriteTransaction, packed: &Packed) -> Result<(), redb::Error> {
    write_head(transaction, &packed.run)?;
    for (kind, pages) in &packed.pages {
        let mut table = transaction.open_table(page_table(*kind))?;
        for (key, page) in pages {
            write_page(&mut table, packed.run.id, *key, page.clone())?;
        }
    }
    write_sizes(transaction, &packed.sizes)
}

/// Writes a run's head.
pub fn write_head(transaction: &WriteTransaction, run: &Run) -> Result<(), redb::Error> {
    transaction.open_table(RUN_TO_HEAD)?.insert(run.id, &sealed(run.pack())[..])?;
    Ok(())
}

/// Writes a page of a run.
pub fn write_page(table: &mut PageTable<'_>, run: u32, key: PageKey, page: Vec<u8>) -> Result<(), redb::Error> {
    table.insert((run, key.0, key.1), &sealed_page(page)[..])?;
    Ok(())
}

/// Writes pages of sizes.
pub fn write_sizes(transaction: &WriteTransaction, pages: &SizePages) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(HEIGHT_TO_SIZES)?;
    for (height, page) in pages {
        table.insert(height.0, &sealed_page(page.clone())[..])?;
    }
    Ok(())
}

/// Deletes a run's head and pages.
pub fn delete_run(transaction: &WriteTransaction, id: u32) -> Result<(), redb::Error> {
    for kind in Kind::ALL {
        let mut table = transaction.open_table(page_table(kind))?;
        table.retain_in((id, 0, 0)..=(id, Prefix::MAX, u32::MAX), |_, _| false)?;
    }
    transaction.open_table(RUN_TO_HEAD)?.remove(id)?;
    Ok(())
}
