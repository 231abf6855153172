//! Wiring follows.
