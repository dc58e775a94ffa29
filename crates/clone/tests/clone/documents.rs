//! Valid documents, and refusal of invalid ones.
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

fn refusal(change: impl FnOnce(&mut Value)) -> (String, String) {
    let mut document = silo();
    change(&mut document);
    match Document::from_json(&document.to_string()) {
        Err(CloneError::Field { field, value, .. }) => (field, value),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_written_document_is_read_back() {
    let document = Document::from_json(&silo().to_string()).unwrap();
    assert_eq!(Document::from_json(&serde_json::to_string(&document).unwrap()).unwrap(), document);
}

#[test]
fn invalid_documents_are_refused_by_field_and_value() {
    let check = |pointer: &str, change: Value, field: &str, value: &str| {
        let found = refusal(|document| *document.pointer_mut(pointer).expect(pointer) = change);
        assert_eq!(found, (field.to_owned(), value.to_owned()));
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
    let Err(CloneError::Unreadable(message)) = Document::from_json(&document.to_string()) else { panic!() };
    assert!(message.contains("thread"), "{message}");
}

#[test]
fn capacity_is_limited_by_threads_or_the_lock() {
    let capacity = |threads: u32| {
        let mut document = silo();
        document["threads"] = json!(threads);
        document["disturbances"] = json!([]);
        Program::new(&Document::from_json(&document.to_string()).unwrap()).unwrap().capacity_per_s()
    };
    // A request takes 16.14 exp(.288^2/2) * .999 + .0596 + 3.5 exp(.15^2/2) us, of which 3.54 are in the lock.
    assert!((capacity(1) / (1e6 / 20.40) - 1.0).abs() < 2e-3, "{}", capacity(1));
    assert!((capacity(4) / capacity(1) - 4.0).abs() < 1e-9);
    assert!((capacity(64) / (1e6 / 3.5396) - 1.0).abs() < 1e-3, "{}", capacity(64));
}
