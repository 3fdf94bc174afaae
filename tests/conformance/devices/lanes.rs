//! D05: several lanes give the same results as one.

use super::same_results::same;
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost::testing::CpuFaults;

pub fn cases() -> Vec<Case> {
    const ONE_LANE: &str = "wgpu gives one hardware queue a device";
    vec![
        case("d05_one_to_four_lanes_give_the_same_bytes", bytes).cpu_only(ONE_LANE),
        case("d05_queues_are_spread_over_the_lanes", spread).cpu_only(ONE_LANE),
        case("d05_a_chain_through_all_lanes_is_in_order", chain).cpu_only(ONE_LANE),
        case("d05_checked_reports_the_same_hazards_on_any_number_of_lanes", answers).cpu_only(ONE_LANE),
    ]
}

pub(super) fn on_lanes(s: &Subject, lanes: usize, seed: u64, policy: Policy) -> Context {
    let faults = CpuFaults { delays: true, ..CpuFaults::default() };
    s.on_cpu(SimulatorOptions::default().seed(seed).lanes(lanes), faults, policy)
}

fn bytes(s: &Subject) {
    for lanes in 1..=4 {
        (0..5).for_each(|seed| same(&on_lanes(s, lanes, seed, Policy::Ordered)));
    }
}

/// Checks that the queues are assigned to the lanes in turn, in the order in which they are made.
fn spread(s: &Subject) {
    let ctx = on_lanes(s, 4, 0, Policy::Ordered);
    let queues: Vec<CommandQueue> = (0..8).map(|at| ctx.queue(&format!("queue {at}"))).collect();
    let dump = ctx.diagnostics().state_dump();
    let lane = |queue: &CommandQueue| {
        let line = dump.lines().find(|line| line.contains(&format!("`{}`", queue.options().label))).unwrap();
        line.split("lane ").nth(1).and_then(|rest| rest.split(',').next()?.parse().ok())
    };
    let found: Vec<Option<usize>> = queues.iter().map(lane).collect();
    assert_eq!(found, [0, 1, 2, 3, 0, 1, 2, 3].map(Some), "{dump}");
}

/// Has each of four queues, one on each lane, copy the array that the queue before it has written.
fn chain(s: &Subject) {
    for seed in 0..10 {
        let ctx = on_lanes(s, 4, seed, Policy::Checked);
        let queues: Vec<CommandQueue> = (0..4).map(|at| ctx.queue(&format!("queue {at}"))).collect();
        let mut arrays: Vec<DeviceArray<u32>> = (0..4).map(|_| ctx.zeros([64]).unwrap()).collect();
        for turn in 1..=5_u32 {
            for at in 0..4 {
                queues[at].wait_for(&queues[(at + 3) % 4]).unwrap();
                if at == 0 {
                    queues[0].fill(&mut arrays[0], turn).unwrap();
                } else {
                    let from = arrays[at - 1].clone();
                    queues[at].copy(&from, &mut arrays[at]).unwrap();
                }
            }
            assert_eq!(queues[3].read(&arrays[3]).wait().unwrap(), [turn; 64]);
        }
    }
}

/// Checks that `Checked` gives the same answers to 200 random calls on one to four lanes.
fn answers(s: &Subject) {
    let answers = |lanes: usize| {
        let ctx = on_lanes(s, lanes, 3, Policy::Checked);
        let queues: Vec<CommandQueue> = (0..4).map(|at| ctx.queue(&format!("queue {at}"))).collect();
        let arrays: Vec<DeviceArray<u32>> = (0..3).map(|_| ctx.zeros([64]).unwrap()).collect();
        let mut rng = fastrand::Rng::with_seed(17);
        let answer = |_| {
            let queue = &queues[rng.usize(..4)];
            let other = &queues[rng.usize(..4)];
            match rng.u32(..3) {
                0 => queue.wait_for(other).unwrap(),
                1 if rng.u32(..4) == 0 => queue.finish().wait().unwrap(),
                _ => match queue.fill(&mut arrays[rng.usize(..3)].clone(), 1) {
                    Ok(()) => {}
                    Err(error) if matches!(error.detail(), ErrorDetail::Hazard { .. }) => {
                        return Some(error.to_string());
                    }
                    Err(error) => panic!("{error}"),
                },
            }
            None
        };
        (0..200).map(answer).collect::<Vec<_>>()
    };
    let one = answers(1);
    assert!(one.iter().flatten().count() > 10 && one.iter().any(Option::is_none));
    for lanes in 2..=4 {
        // The labels of arrays contain the source line that made them, which is the same for all numbers of lanes.
        assert_eq!(answers(lanes), one, "on {lanes} lanes");
    }
}
