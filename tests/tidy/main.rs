//! Rules of this codebase that no compiler knows.
