//! TLS with every protocol on common servers.

mod certificates;
mod servers;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::time::Duration;

use hindmost_load::transport::{try_handshake, TlsProblem};
use hindmost_load::LoadError;
use hindmost_plan::{Plan, Protocol};
use serde_json::{json, Value};

use self::certificates::Certificates;
use super::common::{intervals, phases, plan, run, Run, ServerProcess};

const HERE: [&str; 2] = ["127.0.0.1", "localhost"];

/// Return the usual short plan, with TLS as in `tls`.
fn tls_plan(protocol: &str, address: &str, tls: &Value, changes: &Value) -> Plan {
    let mut all = json!({"target": {"protocol": protocol, "address": address, "tls": tls}});
    all.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    plan(protocol, address, &all)
}

fn trusting(certificates: &Certificates) -> Value {
    json!({"ca": certificates.file("ca.pem")})
}

fn tls_problem(protocol: &str, server: &ServerProcess, tls: &Value) -> TlsProblem {
    match run(&tls_plan(protocol, &server.address, tls, &json!({}))).err().unwrap() {
        LoadError::Tls { address, problem } if address == server.address => problem,
        other => panic!("{other}"),
    }
}

#[test]
fn nginx_answers_over_tls_with_one_handshake_per_connection() {
    let certificates = Certificates::issue(&HERE);
    for (versions, load) in
        [("TLSv1.2", json!({"loop": "open", "rate_per_s": 3000.0})), ("TLSv1.3", json!({"loop": "closed"}))]
    {
        let directives = format!("ssl_protocols {versions};");
        let Some(server) = ServerProcess::nginx_tls(1_000_000, &certificates, &directives) else { return };
        let changes = json!({"load": load});
        let ran = run(&tls_plan("http", &server.address, &trusting(&certificates), &changes)).unwrap();
        ran.assert_clean(versions);
        let connects = &ran.result["connects"];
        let handshakes =
            connects["full_handshakes"].as_u64().unwrap() + connects["resumed_handshakes"].as_u64().unwrap();
        assert_eq!((&connects["all"], handshakes), (&json!(4), 4), "{versions} {connects}");
    }
}

#[test]
fn each_connection_has_a_handshake_that_is_resumed_if_the_plan_says_so() {
    let certificates = Certificates::issue(&HERE);
    let Some(server) = ServerProcess::nginx_tls(1, &certificates, "") else { return };
    for resumption in [true, false] {
        let tls = json!({"ca": certificates.file("ca.pem"), "resumption": resumption});
        let changes = json!({"load": {"loop": "open", "rate_per_s": 200.0}});
        let ran = run(&tls_plan("http", &server.address, &tls, &changes)).unwrap();
        ran.assert_clean("closing");
        let count = |name: &str| ran.result["connects"][name].as_u64().unwrap();
        assert_eq!(count("all"), count("full_handshakes") + count("resumed_handshakes"));
        assert_eq!(resumption, count("resumed_handshakes") > count("all") / 2, "{}", ran.result["connects"]);
        assert!(resumption || count("resumed_handshakes") == 0, "{}", ran.result["connects"]);
        let (_, connect) = intervals(&ran.file("client-0.hlog"), "connect");
        let (_, handshake) = intervals(&ran.file("client-0.hlog"), "handshake");
        assert_eq!((connect.count(), handshake.count()), (count("made"), count("made")));
        assert!(connect.max().unwrap() > 0 && handshake.min().unwrap() > 0);
    }
}

#[test]
fn replies_larger_than_a_record_and_requests_larger_than_a_socket_arrive() {
    let certificates = Certificates::issue(&HERE);
    let Some(server) = ServerProcess::redis_tls(&certificates) else { return };
    let tls = json!({
        "ca": certificates.file("ca.pem"),
        "certificate": certificates.file("client.pem"), "key": certificates.file("client.key"),
    });
    for (value_bytes, rate) in [(json!({"uniform": [1, 4000]}), 2000.0), (json!(900_000), 40.0)] {
        let changes = json!({
            "load": {"loop": "open", "rate_per_s": rate},
            "workload": {"kind": "key-value", "keys": 20, "get_ratio": 0.5, "value_bytes": value_bytes},
        });
        let ran = run(&tls_plan("redis", &server.address, &tls, &changes)).unwrap();
        if value_bytes.is_object() {
            ran.assert_clean(&value_bytes.to_string());
        } else {
            ran.assert_served(&value_bytes.to_string());
        }
        assert_eq!(ran.count("misses"), 0, "{value_bytes}");
    }
}

#[test]
fn memcached_answers_over_tls() {
    let certificates = Certificates::issue(&HERE);
    let Some(server) = ServerProcess::memcached_tls(&certificates) else { return };
    let ran = run(&tls_plan("memcached", &server.address, &trusting(&certificates), &json!({}))).unwrap();
    ran.assert_clean("memcached");
    assert_eq!(ran.count("misses"), 0);
}

#[test]
fn wire_latency_of_tls_records_is_within_service_latency() {
    let certificates = Certificates::issue(&HERE);
    let Some(server) = ServerProcess::nginx_tls(1_000_000, &certificates, "") else { return };
    // One request at a time per connection: replies that arrive together have no wire latency.
    let changes = json!({"stamp_every": 1, "load": {"loop": "closed", "rate_per_s": 500.0}});
    let ran = run(&tls_plan("http", &server.address, &trusting(&certificates), &changes)).unwrap();
    let stamps = &ran.result["stamps"];
    let (asked, came) = (stamps["requested"].as_u64().unwrap(), stamps["received"].as_u64().unwrap());
    assert!(10 * came > asked, "{stamps}");
    assert_eq!(stamps["implausible"], 0, "{stamps}");
}

#[test]
fn an_unverifiable_certificate_is_reported_with_name_ca_and_reason() {
    let (ours, others) = (Certificates::issue(&HERE), Certificates::issue(&HERE));
    let Some(server) = ServerProcess::nginx_tls(9, &ours, "") else { return };
    let unverified = |server: &ServerProcess, tls: &Value| match tls_problem("http", server, tls) {
        TlsProblem::Certificate { name, reason } => (name, reason),
        other => panic!("{other}"),
    };
    let (name, reason) = unverified(&server, &trusting(&others));
    assert!(name == "127.0.0.1" && reason.contains(&others.file("ca.pem")), "{name} {reason}");
    let elsewhere = json!({"ca": ours.file("ca.pem"), "sni": "elsewhere.example"});
    let (name, reason) = unverified(&server, &elsewhere);
    // The names in the certificate.
    assert!(name == "elsewhere.example" && reason.contains("127.0.0.1"), "{name} {reason}");
    assert!(run(&tls_plan("http", &server.address, &json!({"verify": false}), &json!({}))).is_ok());
    let expired = Certificates::issue_expired(&HERE);
    let Some(server) = ServerProcess::nginx_tls(9, &expired, "") else { return };
    unverified(&server, &trusting(&expired));
}

#[test]
fn missing_client_certificates_and_unsupported_versions_are_reported() {
    let certificates = Certificates::issue(&HERE);
    let Some(plain) = ServerProcess::nginx(9) else { return };
    let problem = tls_problem("http", &plain, &trusting(&certificates));
    assert!(matches!(&problem, TlsProblem::Plain(said) if said.contains("HTTP/1.1 400")), "{problem}");
    let Some(redis) = ServerProcess::redis_tls(&certificates) else { return };
    // With TLS 1.3 the refusal arrives after the handshake: while connecting, or while the keys are stored.
    let refused =
        run(&tls_plan("redis", &redis.address, &trusting(&certificates), &json!({}))).err().unwrap();
    assert!(matches!(refused.code(), "tls-refused" | "preload"), "{refused}");
    let Some(old) = ServerProcess::nginx_tls(9, &certificates, "ssl_protocols TLSv1.1;") else { return };
    let problem = tls_problem("http", &old, &trusting(&certificates));
    assert!(matches!(problem, TlsProblem::Version(_)), "{problem}");
}

#[test]
fn unusable_files_are_named_before_the_first_connection() {
    let (ours, others) = (Certificates::issue(&HERE), Certificates::issue(&HERE));
    let nowhere = ServerProcess::nginx_tls(9, &ours, "");
    let Some(server) = nowhere else { return };
    let ca = ours.file("ca.pem");
    let nowhere = "/nowhere/ca.pem".to_owned();
    let [certificate, key] = ["client.pem", "client.key"].map(|name| ours.file(name));
    for (tls, file) in [
        (json!({"ca": nowhere}), &nowhere),
        (json!({"ca": key}), &key),
        (json!({"ca": ca, "certificate": certificate, "key": certificate}), &certificate),
    ] {
        let problem = tls_problem("http", &server, &tls);
        assert!(matches!(&problem, TlsProblem::File { path, .. } if path == file), "{problem}");
    }
    let others = others.file("client.key");
    let problem = tls_problem("http", &server, &json!({"ca": ca, "certificate": certificate, "key": others}));
    assert_eq!(problem, TlsProblem::KeyMismatch { certificate, key: others });
}

#[test]
fn a_trusted_self_signed_certificate_is_accepted() {
    let certificates = Certificates::own_ca(&HERE);
    let Some(server) = ServerProcess::nginx_tls(1_000_000, &certificates, "") else { return };
    let tls = json!({"ca": certificates.file("server.pem")});
    run(&tls_plan("http", &server.address, &tls, &json!({}))).unwrap().assert_clean("its own CA");
    let problem =
        tls_problem("http", &server, &json!({"ca": certificates.file("server.pem"), "sni": "elsewhere"}));
    assert!(matches!(&problem, TlsProblem::Certificate { name, .. } if name == "elsewhere"), "{problem}");
}

#[test]
fn nginx_negotiates_http2_over_tls() {
    let certificates = Certificates::issue(&HERE);
    let [certificate, key] = ["server.pem", "server.key"].map(|name| certificates.file(name));
    let files = format!("ssl_certificate {certificate}; ssl_certificate_key {key};");
    let Some(server) = ServerProcess::nginx_with(100, "ssl http2", &files) else { return };
    let count = |ran: &Run, name: &str| ran.result["connects"][name].as_u64().unwrap();
    let once = || {
        let changes = json!({"phases": phases(0.5)});
        let ran = run(&tls_plan("http2", &server.address, &trusting(&certificates), &changes)).unwrap();
        assert_eq!(
            ran.count("scheduled"),
            ran.count("completed") + ran.count("unsent"),
            "{}",
            ran.result["counts"]
        );
        ran
    };
    // nginx closes after 100 requests; on a busy host it may not answer many in 0.6 s.
    let Some(ran) = (0..4).map(|_| once()).find(|ran| count(ran, "all") > 12) else { return };
    assert!(4 * count(&ran, "resumed_handshakes") > count(&ran, "all"), "{}", ran.result["connects"]);
}

/// Start a server that answers the first eight bytes of each connection with `answer`.
fn answering(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let mut connection = connection;
            let mut request = [0; 8];
            if connection.read_exact(&mut request).is_ok() && request == [0, 0, 0, 8, 4, 210, 22, 47] {
                let _ = connection.write_all(answer);
                // Later bytes are read, so that no reset overtakes the answer.
                let _ = connection.shutdown(Shutdown::Write);
                let _ = std::io::copy(&mut connection, &mut std::io::sink());
            }
        }
    });
    address
}

type Test = fn(&TlsProblem) -> bool;

#[test]
fn only_one_byte_of_the_answer_to_a_tls_request_is_trusted() {
    // A single handshake and a complete run must have the same result.
    let tls = json!({"verify": false});
    let cases: [(&[u8], Test); 5] = [
        (b"N", |problem| *problem == TlsProblem::Off),
        (b"E", |problem| *problem == TlsProblem::UnexpectedAnswer(0x45)),
        (b"\x15\x03\x01\0\x02\x02\x28", |problem| *problem == TlsProblem::UnexpectedAnswer(0x15)),
        (b"", |problem| *problem == TlsProblem::HungUp),
        // An attacker injects a message before TLS that only the server may send: AuthenticationOk.
        (b"SR\0\0\0\x08\0\0\0\0", |problem| matches!(problem, TlsProblem::Plain(_))),
    ];
    for (answer, is_told) in cases {
        let address = answering(answer);
        let plan = tls_plan("postgresql", &address, &tls, &json!({"workload": {"kind": "sql"}}));
        let tls = plan.target.tls.as_ref().unwrap();
        let inner = try_handshake(tls, &address, Protocol::Postgresql, Duration::from_secs(20)).unwrap_err();
        let LoadError::Tls { problem, .. } = run(&plan).err().unwrap() else { panic!("{answer:?}") };
        assert!(is_told(&problem), "{answer:?}: {problem}");
        assert_eq!(inner, problem);
    }
}
