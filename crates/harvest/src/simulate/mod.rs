//! Simulators of data centers over months and years. They call the code that decides on clusters.

mod availability;
mod center;
mod durability;
mod hazard;
mod jobs;
mod policy;
mod scheduling;
mod world;

pub use availability::{availability, AccessFailures, Availability};
pub use center::Center;
pub use durability::{durability, Durability, Losses, Places};
pub use hazard::{hazard, Hazard, Rate};
pub use policy::Policy;
pub use scheduling::{scheduling, Done, Scheduler, Scheduling};
pub use world::{Inventory, Scaling, Traces, World};
