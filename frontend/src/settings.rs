//! What a reader sets once: the unit of amounts and the colours. Kept in the browser.

use bitcoin::Amount;
use leptos::prelude::*;

use crate::browser::{load, save};
use crate::format::{btc, group};
use crate::live::{State, effect};

/// How amounts are written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Unit {
    /// In bitcoin.
    #[default]
    Btc,
    /// In satoshis.
    Sat,
}

impl Unit {
    /// The unit's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Btc => "BTC",
            Self::Sat => "sat",
        }
    }

    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::Btc => Self::Sat,
            Self::Sat => Self::Btc,
        }
    }

    /// An amount in this unit, without its name.
    pub fn write(self, amount: Amount) -> String {
        match self {
            Self::Btc => btc(amount),
            Self::Sat => group(amount.to_sat()),
        }
    }
}

/// Which colours.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Theme {
    /// As the system says.
    #[default]
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::System, Self::Light, Self::Dark];

    /// The one after it.
    pub const fn next(self) -> Self {
        match self {
            Self::System => Self::Light,
            Self::Light => Self::Dark,
            Self::Dark => Self::System,
        }
    }

    /// The word under which it is kept.
    pub const fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// The settings, as a context.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How amounts are written.
    pub unit: State<Unit>,
    /// Which colours.
    pub theme: State<Theme>,
}

impl Settings {
    /// Reads what was kept and keeps what changes. `public/start.js` has set the colours before the app stood.
    pub fn start() -> Self {
        let unit = if load("unit").as_deref() == Some("sat") { Unit::Sat } else { Unit::Btc };
        let kept = load("theme").unwrap_or_default();
        let theme = Theme::ALL.into_iter().find(|theme| theme.word() == kept).unwrap_or_default();
        let settings = Self { unit: State::new(unit), theme: State::new(theme) };
        effect(move || save("unit", settings.unit.get().name()));
        effect(move || {
            let theme = settings.theme.get();
            save("theme", theme.word());
            if let Some(root) = document().document_element() {
                // The attribute's name is a valid one.
                let _ = root.set_attribute("data-theme", theme.word());
            }
        });
        settings
    }
}
