//! R01: mistakes with arrays and transfers.

use super::table::{Bench, Mistake, check, mistakes};
use crate::common::{Case, Subject, TOO_MANY, case};
use fencepost::{Download, HostArray, Policy, Result, Shape, Upload, region};

pub fn cases() -> Vec<Case> {
    vec![
        case("r01_mistakes_with_shapes_and_ranges_have_their_errors", |s| check(s, Policy::Ordered, SHAPES)),
        case("r01_mistakes_with_memory_have_their_errors", |s| check(s, Policy::Ordered, MEMORY)),
        case("r01_mistakes_with_maps_have_their_errors", |s| check(s, Policy::Ordered, MAPS)),
        case("r01_every_verb_accepts_arrays_without_elements", without_elements),
    ]
}

const SHAPES: &[Mistake] = mistakes![
    "no element of an array without dimensions": |b| b.ctx.zeros::<f32, 0>([])?.slice(0..0) => Range { .. },
    "a second element of an array without dimensions":
        |b| b.ctx.zeros::<f32, 0>([])?.slice(0..2) => Range { .. },
    "upload of too much": |b| b.queue.upload(&[0.0; 65], &mut b.y.clone()) => Shape { .. },
    "upload of too little": |b| b.queue.upload(&[0.0; 63], &mut b.y.clone()) => Shape { .. },
    "upload of nothing": |b| b.queue.upload(&[], &mut b.y.clone()) => Shape { .. },
    "upload of another pinned length":
        |b| b.queue.upload(&b.ctx.pinned::<f32, Upload, 1>([63])?, &mut b.y.clone()) => Shape { .. },
    "upload of a slice past the end":
        |b| b.queue.upload(&b.upload.slice(60..70)?, &mut b.y.slice(0..10)?) => Range { .. },
    "upload of a slice of another length":
        |b| b.queue.upload(&b.upload.slice(0..9)?, &mut b.y.slice(0..10)?) => Shape { .. },
    "upload of a slice that runs backwards":
        |b| b.queue.upload(&b.upload.slice(9..4)?, &mut b.y.slice(0..5)?) => Range { .. },
    "download to another length": |b| {
        let mut host: HostArray<f32, Download> = b.ctx.pinned([65])?;
        b.queue.download(&b.x, &mut host)
    } => Shape { .. },
    "read into a longer slice": |b| b.queue.read_into(&b.x, &mut [0.0; 65]) => Shape { .. },
    "read into a shorter slice": |b| b.queue.read_into(&b.x, &mut []) => Shape { .. },
    "copy to another shape": |b| b.queue.copy(&b.x.slice(0..32)?, &mut b.y.clone()) => Shape { .. },
    "copy to a transposed shape":
        |b| b.queue.copy(&b.x.reshape([4, 16])?, &mut b.y.reshape([16, 4])?) => Shape { .. },
    "slice past the end": |b| b.x.slice(60..65) => Range { .. },
    "slice far past the end": |b| b.x.slice(usize::MAX - 1..usize::MAX) => Range { .. },
    "slice that runs backwards": |b| b.x.slice(10..5) => Range { .. },
    "slice of a slice past its end": |b| b.x.slice(0..8)?.slice(4..9) => Range { .. },
    "slice past the rows": |b| b.x.reshape([4, 16])?.slice(0..5) => Range { .. },
    "reshape to more": |b| b.x.reshape([8, 9]) => Shape { .. },
    "reshape to a number that wraps": |b| b.x.reshape([usize::MAX, usize::MAX]) => Shape { .. },
    "array taken as another type":
        |b| b.x.any().typed::<u32, 1>() => Type { found, asked } if found == "f32" && asked == "u32",
    "region of too many axes": |b| b.queue.read_region(&b.x, region![0, 0]).wait() => RegionAxes { .. },
    "region past the end":
        |b| b.queue.upload_region(&[0.0], &mut b.y.clone(), region![64])
        => RegionIndex { index: 64, len: 64, .. },
    "region without elements":
        |b| b.queue.copy_region(&b.x, region![9..9], &mut b.y.clone(), region![9..9]) => RegionRange { .. },
    "region that runs backwards":
        |b| b.queue.copy_region(&b.x, region![0..9; -1], &mut b.y.clone(), region![0..9])
        => RegionRange { .. },
    "regions of two shapes":
        |b| b.queue.copy_region(&b.x, region![0..9], &mut b.y.clone(), region![]) => Shape { .. },
    "upload to a larger region":
        |b| b.queue.upload_region(&[0.0; 8], &mut b.y.clone(), region![..; 2]) => Shape { .. },
    "array padded to less": |b| b.ctx.zeros::<f32, 2>(Shape::padded([4, 4], [4, 3])) => Padding { .. },
    "padded array in another shape":
        |b| b.ctx.zeros::<f32, 1>(Shape::padded([4], [8]))?.reshape([2, 2]) => Padding { .. },
    "array taken with more dimensions": |b| b.x.any().typed::<f32, 2>() => Rank { .. },
];

const MEMORY: &[Mistake] = mistakes![
    "array of too many bytes": |b| b.ctx.zeros::<f32, 1>([TOO_MANY]) => TooLarge { .. },
    "array whose bytes cannot be counted":
        |b| b.queue.empty::<f32, 1>([usize::MAX / 2]) => Uncountable { .. },
    "shape whose elements cannot be counted": |b| b.ctx.full([usize::MAX; 3], 1_u32) => Uncountable { .. },
    "pinned array of too many bytes": |b| b.ctx.pinned::<f32, Upload, 1>([TOO_MANY]) => TooLarge { .. },
    "pinned array whose bytes cannot be counted":
        |b| b.ctx.pinned::<f32, Download, 2>([usize::MAX, 2]) => Uncountable { .. },
    "copy to half a word": |b| {
        let halves = b.ctx.zeros::<half::f16, 1>([8])?;
        b.queue.copy(&halves.slice(2..4)?, &mut halves.slice(5..7)?)
    } => Alignment { needed: 4, .. },
    "fill of half a word":
        |b| b.queue.fill(&mut b.ctx.zeros::<half::f16, 1>([8])?.slice(0..3)?, half::f16::ONE)
        => Alignment { needed: 4, .. },
    "read of half a word":
        |b| b.queue.read(&b.ctx.zeros::<half::f16, 1>([8])?.slice(1..2)?).wait()
        => Alignment { needed: 4, .. },
    "pinned array in use by the device": |b| {
        let gate = b.ctx.user_event("gate");
        let queue = b.ctx.queue("held");
        let mut host: HostArray<f32, Download> = b.ctx.pinned([64])?;
        queue.wait_for(&gate.event())?;
        queue.download(&b.x, &mut host)?;
        let found = host.try_host().map(drop);
        gate.signal();
        queue.finish().wait()?;
        found
    } => Busy { .. },
];

/// Makes a call while `x` is mapped, and returns its result.
fn while_mapped<T>(b: &Bench, call: impl FnOnce() -> Result<T>) -> Result<T> {
    let map = b.x.map_write().wait()?;
    let found = call();
    drop(map);
    found
}

const MAPS: &[Mistake] = mistakes![
    "fill while mapped": |b| while_mapped(b, || b.queue.fill(&mut b.x.clone(), 1.0)) => Mapped { .. },
    "upload while mapped":
        |b| while_mapped(b, || b.queue.upload(&[1.0; 64], &mut b.x.clone())) => Mapped { .. },
    "pinned upload while mapped":
        |b| while_mapped(b, || b.queue.upload(&b.upload, &mut b.x.clone())) => Mapped { .. },
    "copy from the array while mapped":
        |b| while_mapped(b, || b.queue.copy(&b.x, &mut b.y.clone())) => Mapped { .. },
    "copy to the array while mapped":
        |b| while_mapped(b, || b.queue.copy(&b.y, &mut b.x.clone())) => Mapped { .. },
    "copy within the array while mapped":
        |b| while_mapped(b, || b.queue.copy(&b.x, &mut b.x.clone())) => Mapped { .. },
    "read while mapped": |b| while_mapped(b, || b.queue.read(&b.x).wait()) => Mapped { .. },
    "map to read while mapped": |b| while_mapped(b, || b.x.map_read().wait()) => Mapped { .. },
    "map to write while mapped": |b| while_mapped(b, || b.x.map_write().wait()) => Mapped { .. },
    "future map while mapped": |b| while_mapped(b, || crate::common::block_on(b.x.map_read())) => Mapped { .. },
    "map of a part while mapped": |b| while_mapped(b, || b.x.slice(8..9)?.map_read().wait()) => Mapped { .. },
];

fn without_elements(s: &Subject) {
    let b = Bench::new(s, Policy::Ordered);
    let none = || b.ctx.zeros::<f32, 1>([0]).unwrap();
    let mut host: HostArray<f32, Download> = b.ctx.pinned([0]).unwrap();
    let mut source: HostArray<f32, Upload> = b.ctx.pinned([0]).unwrap();
    assert!(source.host_mut().unwrap().is_empty());
    let uncountable = b.ctx.zeros::<f32, 3>([0, usize::MAX, usize::MAX]).unwrap();
    assert!(b.queue.read(&uncountable.slice(0..0).unwrap()).wait().unwrap().is_empty());
    b.queue.fill(&mut none(), 1.0).unwrap();
    b.queue.upload(&[], &mut none()).unwrap();
    b.queue.upload(&source, &mut none()).unwrap();
    b.queue.upload(&b.upload.slice(64..64).unwrap(), &mut none()).unwrap();
    b.queue.copy(&none(), &mut none()).unwrap();
    b.queue.copy(&b.x.slice(64..64).unwrap(), &mut b.x.slice(3..3).unwrap()).unwrap();
    b.queue.download(&none(), &mut host).unwrap();
    assert!(host.host().unwrap().is_empty());
    b.queue.read_into(&none(), &mut []).unwrap();
    assert!(b.queue.read(&none()).wait().unwrap().is_empty());
    assert!(b.queue.array::<f32>(&[]).unwrap().map_write().wait().unwrap().is_empty());
    assert!(b.queue.read(&b.x.slice(64..64).unwrap()).wait().unwrap().is_empty());
    assert_eq!(b.queue.read(&b.x).wait().unwrap(), [1.0; 64]);
}
