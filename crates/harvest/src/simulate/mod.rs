//! Years and data centers in seconds, by the code that decides on clusters.

mod availability;
mod center;
mod durability;
mod hazard;
mod policy;
mod scheduling;

pub use availability::{availability, Availability, Failed};
pub use center::{Center, Scaling, World};
pub use durability::{durability, Durability, Lost};
pub use hazard::{hazard, Hazard, Rate};
pub use policy::Policy;
pub use scheduling::{scheduling, Done, Scheduler, Scheduling};
