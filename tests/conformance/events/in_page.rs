//! E02 in a page: a browser may look for completed work rarely, unless the library makes it look.

use crate::common::kernels::Spin;
use crate::common::{Case, NO_DEVICE, Subject, case, page};
use fencepost::prelude::*;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![case("e02_a_page_looks_for_the_end_of_a_kernel_that_runs", looks).on_gpus_in_a_page(NO_DEVICE)]
}

/// Launches longer and longer kernels, because the shortest ones may be over before the fourth look.
fn looks(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let spin = ctx.kernel::<Spin>().unwrap();
    let mut out = ctx.zeros([1 << 16]).unwrap();
    let has_looked = (0..14).any(|power| {
        let before = page::empty_submissions();
        let grid = Grid::threads([256 << (power / 2)]);
        queue.launch(&spin, grid, Spin { rounds: 500 << (power / 2), out: &mut out }).unwrap();
        queue.finish().wait().unwrap();
        page::empty_submissions() >= before + 4
    });
    assert!(has_looked, "no four looks during any kernel");
    queue.finish().wait().unwrap();
    let idle = page::empty_submissions();
    page::sleep(Duration::from_millis(200));
    assert_eq!(page::empty_submissions(), idle, "an idle page looks for nothing");
}
