//! Signals, and what follows them: parts of a page, effects, and values computed from signals, each kind as one type.
//!
//! Leptos makes everything that draws a closure anew for the type of each closure, and all machinery of a signal or a memo
//! for the type of each value. Boxed they are of one type, which is a sixth of the module less to download.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;

use leptos::prelude::*;

/// A part of a page that is drawn again whenever a signal in it changes.
pub fn live<V: IntoView + 'static>(mut part: impl FnMut() -> V + Send + 'static) -> AnyView {
    let part: Box<dyn FnMut() -> AnyView + Send> = Box::new(move || part().into_any());
    part.into_any()
}

/// Does something now, and again whenever a signal in it changes, as long as the caller's component stands.
pub fn effect(run: impl FnMut() + 'static) {
    let run: Box<dyn FnMut()> = Box::new(run);
    Effect::new(run);
}

/// A value that changes, and that is followed by whoever looks at it.
#[derive(Debug)]
pub struct State<T> {
    signal: RwSignal<Box<dyn Any + Send + Sync>>,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for State<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for State<T> {}

impl<T: Send + Sync + 'static> State<T> {
    /// As long as the component that makes it.
    pub fn new(value: T) -> Self {
        Self { signal: RwSignal::new(Box::new(value)), of: PhantomData }
    }

    /// Looks at the value, and follows it.
    pub fn with<U>(self, look: impl FnOnce(&T) -> U) -> U {
        self.signal.with(|value| look(of(&**value)))
    }

    /// Looks at the value as it is.
    pub fn with_untracked<U>(self, look: impl FnOnce(&T) -> U) -> U {
        self.signal.with_untracked(|value| look(of(&**value)))
    }

    /// Follows the value.
    pub fn track(self) {
        self.signal.track();
    }

    /// Puts another value there.
    pub fn set(self, value: T) {
        self.signal.set(Box::new(value));
    }

    /// The same, unless the component has gone: then it gives the value back.
    pub fn try_set(self, value: T) -> Option<()> {
        self.signal.try_set(Box::new(value)).map(|_| ())
    }

    /// Changes the value where it is.
    pub fn update(self, change: impl FnOnce(&mut T)) {
        self.signal.update(|value| {
            if let Some(value) = value.downcast_mut() {
                change(value);
            }
        });
    }
}

impl<T: Clone + Send + Sync + 'static> State<T> {
    /// The value, which is followed.
    pub fn get(self) -> T {
        self.with(T::clone)
    }

    /// The value as it is.
    pub fn get_untracked(self) -> T {
        self.with_untracked(T::clone)
    }

    /// The same as a signal.
    pub fn signal(self) -> Signal<T> {
        Signal::derive(move || self.get())
    }
}

/// A value that is computed from signals, and that changes only where it becomes another one.
#[derive(Debug)]
pub struct Derived<T> {
    memo: Memo<Value>,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Derived<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Derived<T> {}

impl<T: PartialEq + Send + Sync + 'static> Derived<T> {
    /// Computed when somebody asks for it for the first time, and again after a signal in it has changed.
    pub fn new(compute: impl Fn() -> T + Send + Sync + 'static) -> Self {
        let compute: Box<dyn Fn() -> Value + Send + Sync> = Box::new(move || Value(Arc::new(compute())));
        Self { memo: Memo::new(move |_| compute()), of: PhantomData }
    }

    /// Looks at the value, and follows it.
    pub fn with<U>(self, look: impl FnOnce(&T) -> U) -> U {
        self.memo.get().with(look)
    }

    /// Looks at the value as it is.
    pub fn with_untracked<U>(self, look: impl FnOnce(&T) -> U) -> U {
        self.memo.get_untracked().with(look)
    }

    /// Follows the value.
    pub fn track(self) {
        self.memo.track();
    }
}

impl<T: Clone + PartialEq + Send + Sync + 'static> Derived<T> {
    /// The value, which is followed.
    pub fn get(self) -> T {
        self.with(T::clone)
    }

    /// The value as it is.
    pub fn get_untracked(self) -> T {
        self.with_untracked(T::clone)
    }

    /// The same as a signal.
    pub fn signal(self) -> Signal<T> {
        Signal::derive(move || self.get())
    }
}

/// A value of any type.
#[derive(Clone)]
struct Value(Arc<dyn Comparable>);

/// What can be told from others of its type.
trait Comparable: Send + Sync {
    fn value(&self) -> &dyn Any;
    fn is(&self, other: &dyn Any) -> bool;
}

impl<T: PartialEq + Send + Sync + 'static> Comparable for T {
    fn value(&self) -> &dyn Any {
        self
    }

    fn is(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(other.0.value())
    }
}

impl Value {
    fn with<T: 'static, U>(&self, look: impl FnOnce(&T) -> U) -> U {
        look(of(self.0.value()))
    }
}

fn of<T: 'static>(value: &dyn Any) -> &T {
    match value.downcast_ref() {
        Some(value) => value,
        None => unreachable!("a signal's value is always of the same type"),
    }
}
