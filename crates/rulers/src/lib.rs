//! Rulers: stressors of one resource each, with a known intensity, and what they say of this core.
//!
//! A ruler keeps one shared resource busy and counts its work (Zhang 2018, section 3.2.2.1). No performance counter
//! is asked: rates are per tick of the core's true clock, which a chain of dependent additions shows, and only
//! bursts in which nothing took the processor away are kept.
//!
//! Code of functional units is put together at run time out of templates, so that two kinds of instructions can be
//! interleaved in one stream: from how their times add up follows which of them share execution ports.

mod burst;
mod code;
mod coissue;
mod documented;
mod error;
mod kernel;
mod knees;
mod mapping;
mod memory;
mod ruler;
mod stream;
mod topology;
mod validate;
mod window;
mod work;

pub use burst::Bursts;
pub use code::Class;
pub use coissue::{certificate, cluster, Certificate, Group, Overlap};
pub use error::RulerError;
pub use knees::{knees, knees_of, Knees, Step};
pub use ruler::{rulers, Made, Resource, Ruler};
pub use topology::{placement, Placement, Topology};
pub use validate::{validate, Rate};
pub use window::{Asked, Window};
