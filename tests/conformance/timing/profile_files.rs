//! T05: the files of a profile.

use crate::common::{Case, Subject, case};
use fencepost::{Error, ErrorDetail};
use serde_json::Value;

pub fn cases() -> Vec<Case> {
    vec![case("t05_every_row_is_in_the_trace_and_in_the_timeline", written)]
}

const N: usize = 1000;

fn written(subject: &Subject) {
    let ctx = subject.ctx();
    let queue = ctx.queue("</script><b>");
    let other = ctx.queue("other");
    let profiler = ctx.profile();
    let x = queue.full([N], 1_u32).unwrap();
    other.wait_for(&queue).unwrap();
    other.copy(&x, &mut queue.zeros([N]).unwrap()).unwrap();
    let profile = profiler.finish().wait().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    profile.write(file("trace.json")).unwrap();
    let trace: Value = serde_json::from_slice(&std::fs::read(file("trace.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let rows = events.iter().filter(|event| !event["args"]["row"].is_null()).count();
    assert_eq!(rows, profile.rows.len());
    profile.write(file("page.html")).unwrap();
    let page = std::fs::read_to_string(file("page.html")).unwrap();
    let (_, data) = page.split_once(r#"id="data">"#).unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    assert_eq!(data["rows"].as_array().unwrap().len(), profile.rows.len());
    assert!(data["queues"].as_array().unwrap().iter().any(|queue| queue["label"] == "</script><b>"));
    let error = Error::from(profile.write(file("page.txt")).unwrap_err());
    assert!(
        matches!(error.detail(), ErrorDetail::File { .. }) && error.to_string().contains("page.txt"),
        "{error}"
    );
    assert!(profile.write(folder.path().join("none").join("page.html")).is_err());
}
