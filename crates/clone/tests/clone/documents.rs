//! What a document may say, and how one that makes no sense is refused.
use hindmost_clone::{CloneError, Document, Program};
use serde_json::{json, Value};

fn silo() -> Value {
    json!({
        "schema": "hindmost.clone/1",
        "name": "silo",
        "threads": 2,
        "service": [
            {"weight": 0.999, "law": {"kind": "lognormal", "median_us": 16.14, "sigma_log": 0.288}},
            {"weight": 0.001, "law": {"kind": "lognormal", "mean_us": 59.6, "sigma_log": 0.085}},
        ],
        "locks": [{"name": "receive", "hold": {"kind": "lognormal", "median_us": 3.5, "sigma_log": 0.15}}],
        "disturbances": [{
            "name": "interrupt", "scope": "request", "when": {"kind": "chance", "probability": 0.02},
            "length": {"kind": "deterministic", "us": 30}, "while_holding": "receive",
        }],
    })
}

fn refused(change: impl FnOnce(&mut Value)) -> (String, String) {
    let mut document = silo();
    change(&mut document);
    match Document::from_json(&document.to_string()) {
        Err(CloneError::Field { field, value, .. }) => (field, value),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_document_survives_being_written_and_read() {
    let document = Document::from_json(&silo().to_string()).unwrap();
    assert_eq!(Document::from_json(&serde_json::to_string(&document).unwrap()).unwrap(), document);
}

#[test]
fn what_makes_no_sense_is_refused_by_field_and_value() {
    let check = |pointer: &str, value: Value, field: &str, said: &str| {
        let found = refused(|document| *document.pointer_mut(pointer).expect(pointer) = value);
        assert_eq!(found, (field.to_owned(), said.to_owned()));
    };
    check("/schema", json!("hindmost.clone/9"), "schema", "`hindmost.clone/9`");
    check("/threads", json!(0), "threads", "0");
    check("/service", json!([]), "service", "absent");
    check("/service/0/weight", json!(0.5), "service[].weight", "a sum of 0.501");
    check("/service/0/weight", json!(-0.5), "service[0].weight", "-0.5");
    check("/service/0/law/median_us", json!(-1.0), "service[0].law.median_us", "-1");
    check("/service/0/law/sigma_log", json!(-0.1), "service[0].law.sigma_log", "-0.1");
    check(
        "/service/1/law",
        json!({"kind": "pareto", "least_us": 1, "shape": 1}),
        "service[1].law.shape",
        "1",
    );
    let falling = json!({"kind": "empirical", "points": [[0, 5], [0.5, 4], [1, 9]]});
    check("/service/1/law", falling, "service[1].law.points[1]", "[0.5, 4] after [0, 5]");
    check("/locks/0/hold", json!({"kind": "deterministic", "us": -3}), "locks[0].hold.us", "-3");
    check("/disturbances/0/when/probability", json!(1.5), "disturbances[0].when.probability", "1.5");
    check("/disturbances/0/while_holding", json!("sent"), "disturbances[0].while_holding", "`sent`");
    check("/disturbances/0/scope", json!("server"), "disturbances[0].when.kind", "chance");
}

#[test]
fn a_misspelt_field_is_refused() {
    let mut document = silo();
    document["thread"] = json!(2);
    let Err(CloneError::Unreadable(said)) = Document::from_json(&document.to_string()) else { panic!() };
    assert!(said.contains("thread"), "{said}");
}

#[test]
fn capacity_is_what_threads_or_the_lock_allow() {
    let capacity = |threads: u32| {
        let mut document = silo();
        document["threads"] = json!(threads);
        document["disturbances"] = json!([]);
        Program::new(&Document::from_json(&document.to_string()).unwrap()).unwrap().capacity_per_s()
    };
    // 16.14 exp(.288^2/2) * .999 + .0596 + 3.5 exp(.15^2/2) us a request, 3.54 of them in the lock.
    assert!((capacity(1) / (1e6 / 20.40) - 1.0).abs() < 2e-3, "{}", capacity(1));
    assert!((capacity(4) / capacity(1) - 4.0).abs() < 1e-9);
    assert!((capacity(64) / (1e6 / 3.5396) - 1.0).abs() < 1e-3, "{}", capacity(64));
}
