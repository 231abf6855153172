//! The stages, one file each, in pipeline order.

pub mod admit;
pub mod checksum;
pub mod classify;
pub mod coalesce;
pub mod ingress;
pub mod parse;
pub mod rss;
