//! Stressors of one resource each, with a known intensity, and the measurements of this core that they make
//! possible.
//!
//! A stressor keeps one shared resource busy and counts its work (Zhang 2018, section 3.2.2.1). No performance
//! counter is used: rates are per tick of the core's true clock, which a chain of dependent additions measures, and
//! only bursts without interruption are used.
//!
//! Code for functional units is assembled at run time from templates, so that two classes of instructions can be
//! interleaved in one stream. How their times add up shows which of them share execution ports.

mod burst;
mod code;
mod coissue;
mod error;
mod kernel;
mod knees;
mod known_rates;
mod mapping;
mod memory;
mod stream;
mod stressor;
mod topology;
mod validate;
mod window;
mod work;

pub use burst::Bursts;
pub use code::Class;
pub use coissue::{certificate, cluster, Certificate, Group, Overlap};
pub use error::StressorError;
pub use knees::{knees, knees_of, Knees, Step};
pub use stressor::{stressors, ReadyStressor, Resource, Stressor};
pub use topology::{placement, Placement, Topology};
pub use validate::{validate, Rate};
pub use window::{Window, WindowRequest};
