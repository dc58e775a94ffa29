//! Tests of histograms, samples and their files.

mod faults;
mod foreign;
mod hlog;
mod records;
mod samples;
