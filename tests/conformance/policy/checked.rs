//! P02: the programs that `Checked` accepts. P03: the uses that need no order.

use crate::common::{Case, Subject, case, dump, queues};
use crate::kernels::shaders::{LOOKS, saxpy};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("p02_events_waits_for_queues_and_waits_of_the_host_order_two_uses", what_orders),
        case("p02_order_between_queues_is_transitive", passed_on),
        case("p02_an_event_orders_only_the_earlier_commands_of_its_queue", only_before),
        case("p02_a_new_queue_comes_after_everything_enqueued_before", born_after),
        case("p03_two_readers_need_no_order", readers),
        case("p03_disjoint_ranges_need_no_order", ranges),
        case("p03_disjoint_arguments_of_launches_need_no_order", arguments),
        case("p03_a_replay_uses_no_bytes_between_its_ranges", between_ranges),
    ]
}

/// The context and the kernel that the verbs use.
pub struct Bench {
    ctx: Context,
    looks: DynKernel,
}

impl Bench {
    pub fn new(s: &Subject, ctx: &Context) -> Self {
        Self { ctx: ctx.clone(), looks: LOOKS.kernel(s, ctx) }
    }

    fn other(&self) -> DeviceArray<u32> {
        self.ctx.zeros([64]).expect("memory")
    }
}

/// A way to use an array on a queue.
#[derive(Clone, Copy, Debug)]
pub enum Verb {
    LaunchReading,
    LaunchWriting,
    CopyFrom,
    CopyTo,
    Fill,
    Upload,
    UploadPinned,
    Read,
    Download,
}

impl Verb {
    pub const ALL: [Verb; 9] = [
        Verb::LaunchReading,
        Verb::LaunchWriting,
        Verb::CopyFrom,
        Verb::CopyTo,
        Verb::Fill,
        Verb::Upload,
        Verb::UploadPinned,
        Verb::Read,
        Verb::Download,
    ];

    pub fn writes(self) -> bool {
        !matches!(self, Verb::LaunchReading | Verb::CopyFrom | Verb::Read | Verb::Download)
    }

    /// Returns `true` if the call itself tells the host that the use is done.
    pub fn tells_the_host(self) -> bool {
        matches!(self, Verb::Read)
    }

    /// Returns the name of the command in messages.
    pub fn command(self) -> &'static str {
        match self {
            Verb::LaunchReading | Verb::LaunchWriting => "kernel `looks`",
            Verb::CopyFrom | Verb::CopyTo => "a copy",
            Verb::Fill => "a fill",
            Verb::Upload | Verb::UploadPinned => "an upload",
            Verb::Read => "a read",
            Verb::Download => "a download",
        }
    }

    /// A use of `x`, and otherwise only of new arrays.
    pub fn run(self, bench: &Bench, queue: &CommandQueue, x: &DeviceArray<u32>) -> Result<()> {
        let mut x = x.clone();
        let mut other = bench.other();
        match self {
            Verb::LaunchReading => {
                queue.launch_dyn(&bench.looks, Grid::threads([64]), args![&mut x, &mut other])
            }
            Verb::LaunchWriting => {
                queue.launch_dyn(&bench.looks, Grid::threads([64]), args![&mut other, &mut x])
            }
            Verb::CopyFrom => queue.copy(&x, &mut other),
            Verb::CopyTo => queue.copy(&other, &mut x),
            Verb::Fill => queue.fill(&mut x, 3),
            Verb::Upload => queue.upload(&[4; 64], &mut x),
            Verb::UploadPinned => {
                let pinned: HostArray<u32, Upload> = bench.ctx.pinned([64])?;
                queue.upload(&pinned, &mut x)
            }
            Verb::Read => queue.read(&x).wait().map(|_| ()),
            Verb::Download => {
                let mut pinned: HostArray<u32, Download> = bench.ctx.pinned([64])?;
                queue.download(&x, &mut pinned)
            }
        }
    }
}

/// A way to order later commands of the second queue after the first queue.
type Order = fn(&CommandQueue, &CommandQueue);

fn what_orders(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let bench = Bench::new(s, &ctx);
    let knowledge: [(&str, Order); 7] = [
        ("wait_for a marker", |one, two| two.wait_for(&one.marker()).unwrap()),
        ("wait_for a queue", |one, two| two.wait_for(one).unwrap()),
        ("finish", |one, _| one.finish().wait().unwrap()),
        ("a marker's wait", |one, _| one.marker().wait().unwrap()),
        ("is_complete", |one, _| dump::until(|| one.marker().is_complete().unwrap())),
        ("a future", |one, _| crate::common::block_on(one.marker().done()).unwrap()),
        (
            "a timed wait",
            |one, _| while one.finish().wait_timeout(std::time::Duration::MAX).unwrap().is_none() {},
        ),
    ];
    for (name, order) in knowledge {
        for verb in Verb::ALL {
            let [one, two] = queues(&ctx, ["one", "two"]);
            let mut x = ctx.zeros([64]).unwrap();
            one.fill(&mut x, 1).unwrap();
            order(&one, &two);
            verb.run(&bench, &two, &x).unwrap_or_else(|error| panic!("{verb:?} after {name}: {error}"));
        }
    }
}

fn passed_on(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let [one, two, three, four] = ["one", "two", "three", "four"].map(|label| ctx.queue(label));
    let mut x = ctx.zeros([64]).unwrap();
    one.fill(&mut x, 1_u32).unwrap();
    two.wait_for(&one).unwrap();
    three.wait_for(&two).unwrap();
    three.fill(&mut x, 2).unwrap();
    three.marker().wait().unwrap();
    four.fill(&mut x, 3).unwrap();
    assert_eq!(four.read(&x).wait().unwrap(), [3; 64]);
}

fn only_before(s: &Subject) {
    let (ctx, [one, two]) = s.with_queues_under(Policy::Checked, ["one", "two"]);
    let [mut x, mut y] = [0; 2].map(|_| ctx.zeros([64]).unwrap());
    one.fill(&mut x, 1_u32).unwrap();
    let between = one.marker();
    one.fill(&mut y, 1).unwrap();
    two.wait_for(&between).unwrap();
    two.fill(&mut x, 2).unwrap();
    assert!(matches!(two.fill(&mut y, 2).unwrap_err().detail(), ErrorDetail::Hazard { .. }));
    between.wait().unwrap();
    assert!(matches!(two.fill(&mut y, 2).unwrap_err().detail(), ErrorDetail::Hazard { .. }));
    one.finish().wait().unwrap();
    two.fill(&mut y, 2).unwrap();
    assert_eq!(two.read(&y).wait().unwrap(), [2; 64]);
}

fn born_after(s: &Subject) {
    let (ctx, [one, _other]) = s.with_queues_under(Policy::Checked, ["one", "other"]);
    let mut x = ctx.zeros([64]).unwrap();
    s.spin(&ctx, &one, 10);
    one.fill(&mut x, 1_u32).unwrap();
    let born = ctx.queue("born");
    let forked = one.fork("forked");
    assert_eq!(born.read(&x).wait().unwrap(), [1; 64]);
    assert_eq!(forked.read(&x).wait().unwrap(), [1; 64]);
}

fn readers(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let saxpy = saxpy(s, &ctx);
    let x = ctx.full([64], 1.0_f32).unwrap();
    let queues = ["one", "two", "three"].map(|label| ctx.queue(label));
    let results = queues.each_ref().map(|queue| {
        let mut y = queue.zeros([64]).unwrap();
        queue.launch_dyn(&saxpy, Grid::threads([64]), args![2.0_f32, &x, &mut y]).unwrap();
        let mut z = queue.zeros([64]).unwrap();
        queue.copy(&x, &mut z).unwrap();
        [queue.read(&x), queue.read(&y), queue.read(&z)]
    });
    for [x, y, z] in results {
        assert_eq!([x, y, z].map(|read| read.wait().unwrap()[63]), [1.0, 2.0, 1.0]);
    }
}

fn ranges(s: &Subject) {
    let (ctx, [one, two]) = s.with_queues_under(Policy::Checked, ["one", "two"]);
    let x = ctx.zeros::<u32, 1>([64]).unwrap();
    let mut low = x.slice(0..33).unwrap();
    let mut high = x.slice(33..64).unwrap();
    for value in 1..5 {
        one.fill(&mut low, value).unwrap();
        two.upload(&[value; 31], &mut high).unwrap();
        assert_eq!(one.read(&low).wait().unwrap(), [value; 33]);
        assert_eq!(two.read(&high).wait().unwrap(), [value; 31]);
    }
    one.fill(&mut low, 9).unwrap();
    let error = two.fill(&mut x.slice(32..64).unwrap(), 1).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Hazard { range, .. } if *range == (128..132)), "{error}");
}

fn arguments(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let looks = LOOKS.kernel(s, &ctx);
    let [one, two] = queues(&ctx, ["one", "two"]);
    let half = ctx.binding_alignment().max(256) as usize / 4;
    let x = ctx.full([2 * half], 1_u32).unwrap();
    let y = ctx.zeros::<u32, 1>([2 * half]).unwrap();
    let parts = |at: usize| (x.slice(at..at + half).unwrap(), y.slice(at..at + half).unwrap());
    for (queue, at) in [(&one, 0), (&two, half)] {
        let (mut x, mut y) = parts(at);
        queue.launch_dyn(&looks, Grid::threads([half]), args![&mut x, &mut y]).unwrap();
    }
    let (mut source, mut target) = parts(0);
    let error = two.launch_dyn(&looks, Grid::threads([half]), args![&mut source, &mut target]).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Hazard { .. }), "{error}");
    two.wait_for(&one).unwrap();
    assert_eq!(two.read(&y).wait().unwrap(), vec![2; 2 * half]);
}

/// Replays fills of every fourth element, and fills an element between two of them on another queue.
fn between_ranges(s: &Subject) {
    let (ctx, [one, two]) = s.with_queues_under(Policy::Checked, ["one", "two"]);
    let x = ctx.zeros::<u32, 1>([160]).unwrap();
    let element = |at: usize| x.slice(at..at + 1).unwrap();
    let fills = one.capture(|c| (0..40).try_for_each(|at| c.fill(&mut element(4 * at), 7)));
    one.replay(&fills.unwrap().0).unwrap();
    two.fill(&mut element(2), 9).unwrap();
    let error = two.fill(&mut element(4), 9).unwrap_err();
    let ErrorDetail::Hazard { range, .. } = error.detail() else { panic!("{error}") };
    assert_eq!(*range, 16..20, "{error}");
    two.wait_for(&one).unwrap();
    let expected: Vec<u32> =
        (0..160).map(|at| if at % 4 == 0 { 7 } else { 9 * u32::from(at == 2) }).collect();
    assert_eq!(two.read(&x).wait().unwrap(), expected);
}
