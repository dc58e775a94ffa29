//! The first request of a plan, for callers that probe a server before the load.

use hindmost_arrivals::Part;
use hindmost_plan::Plan;

use crate::protocol::Protocol;
use crate::random::{stream, Purpose};
use crate::workload::Requests;
use crate::LoadError;

/// Return the name and the bytes of one request as the load would send it.
///
/// # Errors
/// [`LoadError::Plan`] if a file of the workload cannot be read.
pub fn first_request(plan: &Plan) -> Result<(String, Vec<u8>), LoadError> {
    let plan = Plan { workload: plan.workload.clone().load_files()?, ..plan.clone() };
    Ok(hindmost_wire::with_protocol!(plan.target.protocol, crate::protocol, first_of(&plan)))
}

fn first_of<P: Protocol>(plan: &Plan) -> (String, Vec<u8>) {
    let random = stream(plan.seed, 0, 0, Purpose::Contents);
    let request = Requests::new(plan, Part::WHOLE, random).draw();
    let (codec, mut out) = (P::new(plan), Vec::new());
    codec.write(&mut codec.session(), request, 0, &mut out);
    out.extend_from_slice(codec.tail(request));
    let name = plan.workload.kinds().get(usize::from(request.kind.0)).cloned();
    (name.unwrap_or_default(), out)
}
