//! Tests library kernels when another queue changes their arrays between two launches of a verb.

use crate::harness::{Kernel, Launch, texts};
use fencepost_kernels::ShaderSource;

/// Index outside all arrays of a launch.
const FAR: u32 = 100_000;

/// A launch of a library kernel, with indices from an "earlier launch" that are far outside its arrays.
struct Changed {
    name: &'static str,
    /// Override that makes the kernel read indices.
    switch: Option<&'static str>,
    params: &'static [u32],
    buffers: Vec<Vec<u32>>,
}

/// Lists the kernels that check an index that comes from elements.
fn launches() -> Vec<Changed> {
    let numbers = |len: u32| (0..len).collect::<Vec<u32>>();
    let far = |len: usize| vec![FAR; len];
    let launch = |name, params, buffers| Changed { name, switch: None, params, buffers };
    // Offsets in no order: each second row has all entries.
    let offsets = || (0..=6).map(|n| if n % 2 == 0 { FAR } else { 0 }).collect::<Vec<u32>>();
    let search = launch("arg_extreme", &[300, 70], vec![numbers(300), far(300), numbers(5)]);
    vec![
        Changed { switch: Some("GATHER"), ..search },
        launch("compact", &[300, 70], vec![numbers(300), numbers(300), far(5), numbers(300), numbers(1)]),
        launch(
            "radix_scatter",
            &[300, 70, 5, 0, 0, 0, 0, 0],
            vec![numbers(300), numbers(300), far(80), numbers(300), numbers(1)],
        ),
        launch(
            "reduce_by_key",
            &[300, 70, 0],
            vec![numbers(300), numbers(300), far(10), numbers(300), numbers(300), numbers(1)],
        ),
        launch(
            "sparse_lanes",
            &[18, 6, 300, 290, 3, 20, 0, 0],
            vec![offsets(), far(300), numbers(300), numbers(870), numbers(18)],
        ),
        launch(
            "sparse_rows",
            &[18, 6, 300, 290, 3, 20, 0, 0],
            vec![offsets(), far(300), numbers(300), numbers(870), numbers(18)],
        ),
        launch(
            "sparse_shares",
            &[4, 6, 300, 290, 1, 70, 0, 0],
            vec![offsets(), far(300), numbers(300), numbers(290), numbers(4)],
        ),
        launch("sparse_sums", &[4, 6, 300, 290, 1, 70, 0, 0], vec![offsets(), numbers(4), numbers(6)]),
        launch(
            "take_ranked",
            &[300, 70, 0, 0],
            vec![numbers(300), far(258), far(10), numbers(300), numbers(300), numbers(2)],
        ),
        launch(
            "take_rows",
            &[300, 7, 1, 21],
            vec![numbers(300), far(300), vec![0, 100, 200, 300], numbers(21), numbers(21)],
        ),
    ]
}

#[test]
fn r07_a_place_outside_of_an_array_is_no_index_of_a_trusted_kernel() {
    for Changed { name, switch, params, buffers } in launches() {
        let mut text = ShaderSource::builtin(&format!("{name}.wgsl")).unwrap().whole_text().unwrap();
        if let Some(switch) = switch {
            let off = format!("override {switch}: u32 = 0;");
            let on = format!("override {switch}: u32 = 1;");
            assert!(text.contains(&off), "{name}");
            text = text.replace(&off, &on);
        }
        let findings = Launch::with(Kernel::text(text), params, buffers).groups(5).check(0);
        let texts = texts(&findings);
        assert!(findings.is_empty(), "{name}\n{}", texts.join("\n"));
    }
}
