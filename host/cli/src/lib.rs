//! Library half of the command: captures, engines, comparison, reports.
