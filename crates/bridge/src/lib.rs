//! The only crate that knows Python: it converts and decides nothing.
//!
//! Calls are coarse: a whole plan in, a whole run out, with the interpreter released. `python/hindmost/_engine.pyi`
//! describes the module for Python.

// PyO3 passes arguments by value.
#![allow(clippy::needless_pass_by_value)]

mod capture;
mod client;
mod clone;
mod distribution;
mod fault;
mod harvest;
mod host;
mod knobs;
mod live;
mod nerve;
mod opening;
mod pipe;
mod quantile;
mod registry;
mod schemas;
mod sentinel;
mod simulate;
mod stressors;
mod synth;
mod table;
mod tls;
mod trace;

use pyo3::prelude::*;

#[pymodule]
mod _engine {
    #[pymodule_export]
    use super::capture::{capture_exchanges, match_capture};
    #[pymodule_export]
    use super::client::{
        check_plan, clean_up, first_request, plan_needs, plan_schema, refused_requests, request_names,
        run_client,
    };
    #[pymodule_export]
    use super::clone::{check_clone, clone_schema};
    #[pymodule_export]
    use super::distribution::{read_hlog, Histogram};
    #[pymodule_export]
    use super::fault::EngineError;
    #[pymodule_export]
    use super::harvest::{harvest, harvest_classify, harvest_replay, TraceReader};
    #[pymodule_export]
    use super::host::{
        confine, cpu_counters, doctor, host_facts, monotonic_ns, process_cpu_ns, socket_queues, tcp_counters,
        topology,
    };
    #[pymodule_export]
    use super::knobs::{
        check_knob, keep_knob, knobs, left_knobs, promise_folder, promise_steps, recover_knobs,
        restore_knobs, set_knob, undo_knob,
    };
    #[pymodule_export]
    use super::live::LiveCounters;
    #[pymodule_export]
    use super::nerve::{describe_event, read_ring, watch, watch_counters, Prober, Sampler, WatchInbox};
    #[pymodule_export]
    use super::opening::Opening;
    #[pymodule_export]
    use super::quantile::{hall_sheather, quantiles_of_cells, QuantileCells, QuantileRuns};
    #[pymodule_export]
    use super::registry::{arrival_law, arrival_laws, gap_law, protocols, read_trace};
    #[pymodule_export]
    use super::schemas::written_schemas;
    #[pymodule_export]
    use super::sentinel::Sentinel;
    #[pymodule_export]
    use super::simulate::{check_designs, simulate, simulate_columns};
    #[pymodule_export]
    use super::stressors::{
        cache_knees, core_certificate, instruction_classes, look_at_placement, stressors, validate_stressors,
        Stressor,
    };
    #[pymodule_export]
    use super::synth::{certify_spin, serve_inside, serve_synth};
    #[pymodule_export]
    use super::table::{parquet_columns, read_columns, read_reals, read_words};

    #[pymodule_export]
    use super::tls::{check_tls, try_tls};
    #[pymodule_export]
    use super::trace::{trace_fault, Trace};

    #[pymodule_init]
    fn init(module: &super::Bound<'_, super::PyModule>) -> super::PyResult<()> {
        use super::PyModuleMethods;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
