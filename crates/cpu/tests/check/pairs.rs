//! Races and unwritten reads of random kernels, compared with all pairs of accesses.

use crate::harness::{Kernel, Launch};
use fencepost_cpu::{AccessKind, Finding, Mistake, Shadow};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const GROUPS: u32 = 3;
const SIZE: u32 = 8;

/// One line of a kernel.
enum Line {
    /// A barrier: for buffers if `storage`, otherwise for workgroup variables.
    Barrier { storage: bool },
    /// An access to a word by the invocations with this remainder of their number.
    Access { storage: bool, kind: AccessKind, divisor: u32, remainder: u32, factor: u32, add: u32 },
}

impl Line {
    fn random(rng: &mut fastrand::Rng) -> Self {
        if rng.u8(0..4) == 0 {
            return Self::Barrier { storage: rng.bool() };
        }
        let storage = rng.bool();
        // Only the buffer has both atomic and plain accesses.
        let kinds: &[AccessKind] = match storage {
            false => &[AccessKind::Read, AccessKind::Write],
            true => {
                &[AccessKind::Read, AccessKind::AtomicRead, AccessKind::AtomicWrite, AccessKind::AtomicChange]
            }
        };
        let kind = kinds[rng.usize(0..kinds.len())];
        let divisor = rng.u32(1..9);
        let remainder = rng.u32(0..divisor);
        let factor = rng.u32(0..4);
        let add = rng.u32(0..12);
        Self::Access { storage, kind, divisor, remainder, factor, add }
    }

    fn text(&self) -> String {
        let &Self::Access { storage, kind, divisor, remainder, factor, add } = self else {
            let storage = matches!(self, Self::Barrier { storage: true });
            return format!("{}Barrier();", if storage { "storage" } else { "workgroup" });
        };
        let place = |name: &str| format!("{name}[(id.x * {factor}u + {add}u) % 12u]");
        let access = match kind {
            AccessKind::Read => format!("sum += {};", place(if storage { "same_plain" } else { "w" })),
            AccessKind::Write => format!("{} = 1u;", place("w")),
            AccessKind::AtomicRead => format!("sum += atomicLoad(&{});", place("same_n")),
            AccessKind::AtomicWrite => format!("atomicStore(&{}, 1u);", place("same_n")),
            AccessKind::AtomicChange => format!("atomicAdd(&{}, 1u);", place("same_n")),
        };
        format!("if id.x % {divisor}u == {remainder}u {{ {access} }}")
    }
}

/// One access of one invocation.
struct Done {
    line: usize,
    invocation: u32,
    storage: bool,
    word: u32,
    kind: AccessKind,
    /// Number of earlier barriers for its memory.
    barriers: u32,
}

/// Lists all accesses of a launch.
fn accesses(lines: &[Line]) -> Vec<Done> {
    let mut all = Vec::new();
    for invocation in 0..GROUPS * SIZE {
        let mut passed = [0, 0];
        for (line, at) in lines.iter().enumerate() {
            match *at {
                Line::Barrier { storage } => passed[usize::from(storage)] += 1,
                Line::Access { storage, kind, divisor, remainder, factor, add } => {
                    if invocation % divisor == remainder {
                        let word = (invocation * factor + add) % 12;
                        let barriers = passed[usize::from(storage)];
                        all.push(Done { line, invocation, storage, word, kind, barriers });
                    }
                }
            }
        }
    }
    all
}

/// A race: `true` if it is between workgroups, and the lines of both accesses.
type Pair = (bool, usize, usize);

fn expected(lines: &[Line]) -> BTreeSet<Pair> {
    let all = accesses(lines);
    let mut pairs = BTreeSet::new();
    for (at, a) in all.iter().enumerate() {
        for b in &all[at + 1..] {
            let between = a.invocation / SIZE != b.invocation / SIZE;
            let same = a.storage == b.storage && a.word == b.word && a.invocation != b.invocation;
            let unordered = if between { a.storage } else { a.barriers == b.barriers };
            if same && unordered && a.kind.conflicts(b.kind) {
                pairs.insert((between, a.line.min(b.line), a.line.max(b.line)));
            }
        }
    }
    pairs
}

/// Returns the lines of a finding, counted from the first line of the body.
fn found(finding: &Finding) -> Pair {
    let (between, race) = match &finding.mistake {
        Mistake::RaceInWorkgroup(race) => (false, race),
        Mistake::RaceBetweenWorkgroups(race) => (true, race),
        mistake => panic!("{mistake}"),
    };
    let line = |place: &Option<fencepost_cpu::Place>| place.as_ref().unwrap().line - 2;
    (between, line(&race.one.step.place), line(&race.other.step.place))
}

/// Creates a launch of random lines, and returns it with its text.
fn launch(lines: &[Line]) -> (Launch, String) {
    let mut text = String::from(
        "@group(0) @binding(0) var<storage, read_write> same_n: array<atomic<u32>>; \
        @group(0) @binding(1) var<storage, read> same_plain: array<u32>; var<workgroup> w: array<u32, 12>; \
        @compute @workgroup_size(8) fn k(@builtin(global_invocation_id) id: vec3<u32>) { var sum = 0u;\n",
    );
    lines.iter().for_each(|line| writeln!(text, "{}", line.text()).unwrap());
    text += "if sum == 77777u { atomicAdd(&same_n[40], same_plain[41]); }\n}";
    (Launch::new(Kernel::text(text.clone())).groups(GROUPS), text)
}

#[test]
fn r07_the_races_of_random_kernels_are_those_of_all_pairs_of_accesses() {
    let mut with = 0;
    let mut without = 0;
    for seed in 0..600 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let lines: Vec<Line> = (0..rng.usize(2..12)).map(|_| Line::random(&mut rng)).collect();
        let (launch, text) = launch(&lines);
        let findings = launch.check(seed % 3);
        let pairs: Vec<Pair> = findings.iter().map(found).collect();
        let expected = expected(&lines);
        assert_eq!(pairs.iter().copied().collect::<BTreeSet<_>>(), expected, "seed {seed}\n{text}");
        assert_eq!(pairs.len(), expected.len(), "seed {seed}\n{text}");
        assert_eq!(launch.check(seed + 7), findings, "seed {seed}\n{text}");
        *(if expected.is_empty() { &mut without } else { &mut with }) += 1;
    }
    assert!(with > 100 && without > 50, "{with} kernels have races, {without} have none");
}

/// Returns `true` if an access reads a word of the buffer that is unwritten in every order of the invocations.
fn is_unwritten(all: &[Done], read: &Done) -> bool {
    let change = read.kind == AccessKind::AtomicChange;
    let writes = all.iter().filter(|other| other.storage && other.word == read.word && other.kind.writes());
    // An atomic change does not initialise a word for another change.
    let mut writes = writes.filter(|other| !(change && other.kind == AccessKind::AtomicChange));
    let after = |other: &Done| {
        let same_group = other.invocation / SIZE == read.invocation / SIZE;
        let own = other.invocation == read.invocation && other.line >= read.line;
        own || (same_group && other.barriers > read.barriers)
    };
    read.storage && read.kind.reads() && writes.all(after)
}

#[test]
fn r07_the_unwritten_reads_of_random_kernels_are_those_of_all_orders() {
    let mut with = 0;
    let mut without = 0;
    for seed in 0..600 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let lines: Vec<Line> = (0..rng.usize(2..12)).map(|_| Line::random(&mut rng)).collect();
        let (mut launch, text) = launch(&lines);
        launch.shadow = Shadow::new();
        let all = accesses(&lines);
        let expected = all.iter().filter(|read| is_unwritten(&all, read)).map(|read| read.line);
        let expected: BTreeSet<usize> = expected.collect();
        for order in [0, seed + 1] {
            let findings = launch.check(order);
            let reads =
                findings.iter().filter(|finding| matches!(finding.mistake, Mistake::UnwrittenRead { .. }));
            let reads: Vec<usize> = reads.map(|finding| finding.place().unwrap().line - 2).collect();
            assert_eq!(reads.iter().copied().collect::<BTreeSet<_>>(), expected, "seed {seed}\n{text}");
            assert_eq!(reads.len(), expected.len(), "seed {seed}\n{text}");
        }
        *(if expected.is_empty() { &mut without } else { &mut with }) += 1;
    }
    assert!(with > 100 && without > 50, "{with} kernels have unwritten reads, {without} have none");
}
