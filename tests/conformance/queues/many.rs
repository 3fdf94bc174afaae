//! Q01: thousands of queues. The unit tests of the scheduler count the work per queue.

use crate::common::{Case, Subject, case, hold};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("q01_thousands_of_queues_use_one_array_in_order", one_array),
        case("q01_a_dump_of_thousands_of_queues_is_short", dump),
    ]
}

/// Number of queues on the CPU. If the work grew with its square, the test would exceed its time limit.
const MANY: u32 = 5000;
/// Number of queues on other devices, which execute the commands one by one.
const SOME: u32 = 300;

fn one_array(subject: &Subject) {
    let many = if subject.is_cpu() { MANY } else { SOME };
    for ctx in [subject.ctx(), subject.without_threads()] {
        let mut x = ctx.zeros::<u32, 1>([4]).unwrap();
        let queues: Vec<CommandQueue> = (0..many).map(|at| ctx.queue(&format!("queue {at}"))).collect();
        for (at, queue) in queues.iter().enumerate() {
            queue.fill(&mut x, at as u32).unwrap();
        }
        // These queues come after all commands so far.
        let later: Vec<CommandQueue> = (0..many).map(|at| ctx.queue(&format!("later {at}"))).collect();
        let y = later[many as usize - 1].array(&[many; 4]).unwrap();
        later[many as usize - 1].copy(&y, &mut x).unwrap();
        ctx.synchronize().wait().unwrap();
        drop(queues);
        assert_eq!(later[0].read(&x).wait().unwrap(), [many; 4]);
    }
}

fn dump(subject: &Subject) {
    let ctx = subject.ctx();
    let mut x = ctx.zeros::<u32, 1>([4]).unwrap();
    let queues: Vec<CommandQueue> = (0..1000).map(|at| ctx.queue(&format!("queue {at}"))).collect();
    let gate = hold(&queues[900]);
    queues[900].fill(&mut x, 7).unwrap();
    let text = ctx.diagnostics().state_dump();
    assert!(text.contains("`queue 900`") && text.contains(" more queues"), "{text}");
    assert!(text.lines().count() < 120, "{text}");
    gate.signal();
    assert_eq!(queues[900].read(&x).wait().unwrap(), [7; 4]);
}
