//! What histograms keep and what their files hold.

mod faults;
mod foreign;
mod hlog;
mod records;
mod samples;
