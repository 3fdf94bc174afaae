//! M03: pinned host arrays, for uploads and for downloads.

use crate::common::{Calls, Case, NOT_SEND, Subject, assert_error, case};
use fencepost::{Context, Download, ErrorDetail, HostArray, Upload, region};

pub fn cases() -> Vec<Case> {
    vec![
        case("m03_pinned_arrays_are_uploaded_and_downloaded", both_ways),
        case("m03_writing_a_pinned_array_again_waits_for_its_upload", writes_wait),
        case("m03_reading_a_pinned_array_waits_for_its_download", reads_wait),
        case("m03_a_try_never_waits_and_never_changes_bytes_in_flight", tries),
        case("m03_a_range_of_a_pinned_array_is_uploaded", ranges),
        case("m03_ordinary_and_pinned_memory_give_a_region_the_same_bytes", regions),
        case("m03_dropping_a_pinned_array_in_flight_is_safe", dropped),
        case("m03_each_of_a_hundred_downloads_is_complete_in_the_callback_after_it", callbacks)
            .not_in_a_page(NOT_SEND),
    ]
}

fn upload(ctx: &Context, n: usize) -> HostArray<u32, Upload> {
    ctx.pinned([n]).unwrap()
}

fn download(ctx: &Context, n: usize) -> HostArray<u32, Download> {
    ctx.pinned([n]).unwrap()
}

/// Follows Warp's `test_pinned`, and `set_async` and `get_async` of katsdpsigproc's `test_set_get`.
fn both_ways(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    for n in [1, 7, 4096, 1 << 18] {
        let mut source = upload(&ctx, n);
        let mut target = download(&ctx, n);
        let mut x = queue.zeros([n]).unwrap();
        assert_eq!(source.host().unwrap().to_vec(), vec![0; n], "a pinned array starts as zeros");
        for round in 0..3 {
            let elements: Vec<u32> = (round..).take(n).map(|i| i ^ 0x5555).collect();
            source.host_mut().unwrap().copy_from_slice(&elements);
            queue.upload(&source, &mut x).unwrap();
            queue.download(&x, &mut target).unwrap();
            assert_eq!(target.host().unwrap().to_vec(), elements);
            assert_eq!(queue.read(&x).wait().unwrap(), elements);
        }
    }
}

fn writes_wait(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut source = upload(&ctx, 10_000);
    let mut arrays = Vec::new();
    for round in 0..20 {
        source.host_mut().unwrap().fill(round);
        let mut x = queue.empty([10_000]).unwrap();
        queue.upload(&source, &mut x).unwrap();
        arrays.push(x);
    }
    for (round, x) in arrays.iter().enumerate() {
        assert_eq!(queue.read(x).wait().unwrap(), vec![round as u32; 10_000]);
    }
}

fn reads_wait(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut target = download(&ctx, 10_000);
    let mut x = queue.zeros([10_000]).unwrap();
    for round in 1..20 {
        queue.fill(&mut x, round).unwrap();
        queue.download(&x, &mut target).unwrap();
        queue.fill(&mut x, 1000).unwrap();
        assert_eq!(target.host().unwrap().to_vec(), [round; 10_000]);
    }
}

fn tries(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut source = upload(&ctx, 64);
    let mut target = download(&ctx, 64);
    source.host_mut().unwrap().fill(1);
    let mut x = queue.zeros([64]).unwrap();
    let gate = queue.hold();
    queue.upload(&source, &mut x).unwrap();
    queue.download(&x, &mut target).unwrap();
    assert!(!queue.marker().is_complete().unwrap(), "the gate is closed");
    // On a context without mapped pinned memory the upload has copied the bytes, and the host may write.
    if let Err(error) = source.try_host_mut().map(|mut host| host.fill(2)) {
        assert!(matches!(error.detail(), ErrorDetail::Busy { .. }), "{error}");
    }
    assert!(source.try_host().is_ok(), "the device only reads the source");
    let error = assert_error!(target.try_host(), ErrorDetail::Busy { .. });
    assert!(error.to_string().contains("pinned u32 [64], line"), "the error names the array: {error}");
    gate.signal();
    assert_eq!(target.host().unwrap().to_vec(), [1; 64]);
    assert_eq!(target.try_host().unwrap().to_vec(), [1; 64]);
    source.try_host_mut().unwrap().fill(3);
    assert_eq!(queue.read(&x).wait().unwrap(), [1; 64]);
}

fn ranges(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut source = upload(&ctx, 100);
    source.host_mut().unwrap().iter_mut().zip(0..).for_each(|(x, i)| *x = i);
    let mut x = queue.zeros([10]).unwrap();
    queue.upload(&source.slice(30..40).unwrap(), &mut x).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), (30..40).collect::<Vec<u32>>());
    queue.upload(&source.slice(99..100).unwrap(), &mut x.slice(3..4).unwrap()).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap()[3], 99);
}

fn dropped(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut x = queue.zeros([1000]).unwrap();
    let gate = queue.hold();
    let mut source = upload(&ctx, 1000);
    source.host_mut().unwrap().fill(5);
    queue.upload(&source, &mut x).unwrap();
    let mut target = download(&ctx, 1000);
    queue.download(&x, &mut target).unwrap();
    drop((source, target));
    // Another pinned array must not get the memory that the upload still needs.
    let mut next = upload(&ctx, 1000);
    next.host_mut().unwrap().fill(6);
    gate.signal();
    assert_eq!(queue.read(&x).wait().unwrap(), [5; 1000]);
}

/// Follows CuPy's `test_get_and_add_callback` and `test_launch_host_func`.
#[cfg(not(target_arch = "wasm32"))]
fn callbacks(s: &Subject) {
    const LEN: usize = 100;
    let ctx = s.ctx();
    let (queue, (sender, receiver)) = (ctx.queue("main"), std::sync::mpsc::channel());
    let mut x = ctx.zeros([LEN]).unwrap();
    for turn in 0..100_u32 {
        let mut host = download(&ctx, LEN);
        queue.fill(&mut x, turn).unwrap();
        queue.download(&x, &mut host).unwrap();
        let sender = sender.clone();
        let look = move || {
            let host = host.try_host().expect("the download before the callback is complete");
            sender.send((turn, host.to_vec())).unwrap();
        };
        queue.callback(look).unwrap();
    }
    queue.finish().wait().unwrap();
    let ran: Vec<_> = receiver.try_iter().collect();
    assert_eq!(ran, (0..100).map(|turn| (turn, vec![turn; LEN])).collect::<Vec<_>>());
}

// A pinned array of a page is not `Send`.
#[cfg(target_arch = "wasm32")]
fn callbacks(_: &Subject) {
    unreachable!()
}

/// Follows Warp's `test_pinned`.
fn regions(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let elements: Vec<u32> = (0..24).collect();
    let mut up: HostArray<u32, Upload, 2> = ctx.pinned([4, 6]).unwrap();
    up.host_mut().unwrap().copy_from_slice(&elements);
    let [mut a, mut b] = [0; 2].map(|_| ctx.zeros::<u32, 2>([9, 9]).unwrap());
    let place = region![1..9; 2, 2..8];
    queue.upload_region(&up, &mut a, &place).unwrap();
    queue.upload_region(&elements, &mut b, &place).unwrap();
    assert_eq!(queue.read(&a).wait().unwrap(), queue.read(&b).wait().unwrap());
    let mut down: HostArray<u32, Download, 2> = ctx.pinned([4, 6]).unwrap();
    queue.download_region(&a, &place, &mut down).unwrap();
    assert_eq!(down.host().unwrap().to_vec(), elements);
}
