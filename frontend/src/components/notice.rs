//! Something that the reader should know: in words, with a tone.

use leptos::prelude::*;

/// How serious it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tone {
    /// Good to know.
    Note,
    /// Something is missing.
    Warning,
    /// Something is wrong.
    Error,
}

impl Tone {
    const fn class(self) -> &'static str {
        match self {
            Self::Note => "notice note",
            Self::Warning => "notice warning",
            Self::Error => "notice error",
        }
    }
}

/// A notice.
#[component]
pub fn Notice(
    /// How serious it is.
    tone: Tone,
    /// A few words.
    #[prop(into)]
    title: String,
    /// What a browser test looks for.
    #[prop(default = "notice")]
    name: &'static str,
    /// The rest.
    children: Children,
) -> impl IntoView {
    let role = if tone == Tone::Error { "alert" } else { "note" };
    view! {
        <section class=tone.class() role=role data-test=name>
            <h2>{title}</h2>
            <div>{children()}</div>
        </section>
    }
}

/// A small label beside a title.
#[component]
pub fn Badge(
    /// How it looks: `good`, `bad`, `quiet`.
    #[prop(into)]
    look: String,
    /// What a hover explains.
    #[prop(optional, into)]
    title: String,
    /// What it says.
    children: Children,
) -> impl IntoView {
    view! {
        <span class=["badge ", &look].concat() title=title>
            {children()}
        </span>
    }
}
