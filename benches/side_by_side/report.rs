//! Medians of what was measured, as lines of a table.

use crate::contestant::Contestant;
use crate::core;
use crate::load::Measured;

/// What was measured of every contestant, in the order of the turns; the last one is what all are compared with.
#[derive(Debug)]
pub struct Report {
    names: Vec<&'static str>,
    measured: Vec<Vec<Measured>>,
    answer_bytes: f64,
}

impl Report {
    /// An empty report on answers of a size.
    pub fn new(contestants: &[&Contestant], answer_bytes: usize) -> Self {
        let names: Vec<_> = contestants.iter().map(|contestant| contestant.name).collect();
        // Answers are at most some megabytes.
        let answer_bytes = f64::from(u32::try_from(answer_bytes).unwrap_or(u32::MAX));
        Self { measured: vec![Vec::new(); names.len()], names, answer_bytes }
    }

    /// Adds what one load of a contestant measured.
    pub fn add(&mut self, contestant: usize, measured: Measured) {
        self.measured[contestant].push(measured);
    }

    /// Prints a line for each contestant.
    pub fn print(&self, connections: u32) {
        let Some(nginx) = self.measured.last() else { return };
        for (name, measured) in self.names.iter().zip(&self.measured) {
            let per_second = median(measured.iter().map(|one| one.per_second));
            let cpu = median(measured.iter().map(|one| one.cpu_per_answer)) / self.answer_bytes * 1e9;
            let ratios = || measured.iter().zip(nginx).map(|(one, nginx)| one.per_second / nginx.per_second);
            let (least, most) =
                ratios().fold((f64::MAX, 0.0_f64), |(least, most), one| (least.min(one), most.max(one)));
            println!(
                "{connections:>3} connections  {name:<10} {per_second:>8.0} req/s {:>6.2} GB/s  {:.3} × nginx ({least:.2} to {most:.2})  {cpu:.3} CPU s/GB",
                per_second * self.answer_bytes / 1e9,
                median(ratios()),
            );
        }
        self.print_beside_core(connections);
    }

    /// The first contestant's answers and CPU time for each of Core's.
    fn print_beside_core(&self, connections: u32) {
        let Some(core) = self.names.iter().position(|&name| name == core::NAME) else { return };
        let pairs = || self.measured[0].iter().zip(&self.measured[core]);
        let answers = median(pairs().map(|(own, core)| own.per_second / core.per_second));
        let cpu = median(pairs().map(|(own, core)| own.cpu_per_answer / core.cpu_per_answer));
        println!(
            "{connections:>3} connections  {} beside {}: {answers:.2} × req/s, {cpu:.2} × CPU s/GB",
            self.names[0],
            core::NAME
        );
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}
