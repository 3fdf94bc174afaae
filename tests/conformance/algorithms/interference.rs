//! A01, A22: flags of interference over time and frequency. Some cases are those of katsdpsigproc's `test_twodflag.py`.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_flagger_enqueues_nothing", refused),
        case("a01_a_flagger_with_a_hazard_enqueues_nothing", hazard),
        case("a01_a_flagger_in_a_graph_equals_that_of_a_queue", captured),
        case("a01_a_flagger_accepts_arrays_without_samples", empty),
        case("a22_flags_of_interference_are_those_of_the_host", elementwise),
        case("a22_noise_without_interference_has_few_flags", noise_alone),
        case("a22_a_sample_a_channel_a_time_and_a_weak_block_with_interference_are_flagged", planted),
        case("a22_a_weak_channel_is_found_in_the_medians_over_time", weak_channel),
        case("a22_a_chunk_of_channels_has_a_noise_of_its_own", variable_noise),
        case("a22_known_samples_do_not_change_the_flags_of_others", known),
        case("a22_samples_that_are_all_known_have_no_flags", all_known),
        case("a22_a_window_along_the_time_is_left_out_if_it_is_longer_than_the_times", long_windows),
        case("a22_most_of_a_time_or_a_channel_makes_all_of_it_flagged", fractions),
        case("a22_each_series_is_flagged_alone", series),
        case("a22_a_sample_that_is_not_finite_is_flagged_alone", not_finite),
    ]
}

/// Sizes of the cases with planted interference.
const TIMES: usize = 48;
const CHANNELS: usize = 100;
/// Distance from a threshold that no rounding exceeds, as a part of the magnitudes of both numbers.
const DECIDED: f64 = 2e-5;

/// Returns a number with a mean of 0 and a standard deviation of 1.
fn normal(rng: &mut fastrand::Rng) -> f32 {
    (0..12).map(|_| rng.f32()).sum::<f32>() - 6.0
}

/// Returns noise around 20, one list for all times after the other.
fn noise(seed: u64, len: usize) -> Vec<f32> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..len).map(|_| 20.0 + normal(&mut rng)).collect()
}

/// Returns the flags that a device computes.
#[track_caller]
fn flags<const D: usize>(
    queue: &CommandQueue,
    x: &[f32],
    known: &[u32],
    shape: [usize; D],
    options: SumThresholdFlagger<'_>,
) -> Vec<u32> {
    let x = queue.array(x).unwrap().reshape(shape).unwrap();
    let known = queue.array(known).unwrap().reshape(shape).unwrap();
    guarded(queue, x.len(), |out| queue.flag_interference(&x, &known, &mut out.reshape(shape)?, options))
}

/// Samples whose flags do not depend on the rounding of a device, and their flags.
struct Decided {
    x: Vec<f32>,
    known: Vec<u32>,
    flags: Vec<u32>,
}

/// Returns samples with interference: a slope, noise, strong samples, a channel, a block, a gap of known samples, and
/// numbers that are not finite.
fn decided(seed: u64, shape: [usize; 3], options: SumThresholdFlagger<'_>) -> Decided {
    let [times, channels, series] = shape;
    let samples = |round: u64| {
        let mut rng = fastrand::Rng::with_seed(seed + 1000 * round);
        let mut x = Vec::new();
        let mut known = Vec::new();
        for at in 0..times * channels * series {
            let time = at / series / channels;
            let channel = at / series % channels;
            let is_in_block = (times / 3..times / 2).contains(&time) && channel % 40 > 30;
            let strength = match () {
                () if rng.u32(..150) == 0 => 12.0,
                () if channel % 40 == 17 => 5.0,
                () if is_in_block => 3.0,
                () => 0.0,
            };
            let sign = if rng.u32(..4) == 0 { -1.0 } else { 1.0 };
            let mut sample = 8.0 + channel as f32 / 20.0 + normal(&mut rng) + sign * strength;
            if rng.u32(..200) == 0 {
                sample = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][rng.usize(..3)];
            }
            let is_in_gap = (5..24).contains(&channel) && 4 * time < times;
            x.push(sample);
            known.push(if is_in_gap || rng.u32(..150) == 0 { 4 } else { 0 });
        }
        let (flags, margin) = host::flag_interference(&x, &known, shape, &options);
        (margin > DECIDED).then_some(Decided { x, known, flags })
    };
    (0..100).find_map(samples).expect("samples that are not near a threshold")
}

/// Returns the shapes and options of the comparison with the host: a single time, channel and sample, one chunk and more
/// chunks than channels, means of channels with and without a shorter last one, gaps that are wider than the Gaussian,
/// and windows of other lengths.
fn options() -> Vec<([usize; 3], SumThresholdFlagger<'static>)> {
    let usual = SumThresholdFlagger::default();
    let narrow = usual.spike_width(1.0, 1.0);
    vec![
        ([1, 1, 1], usual),
        ([1, 30, 1], usual.freq_chunks(3)),
        ([1, 60, 2], narrow.freq_chunks(1)),
        ([30, 1, 2], usual),
        ([40, 60, 1], usual.freq_chunks(4)),
        ([13, 40, 2], narrow.freq_chunks(3)),
        ([24, 33, 3], narrow.freq_chunks(4).average_freq(2).extend(5, 1).rho(1.5)),
        ([9, 50, 1], narrow.background(2.5, 2).average_freq(3).extend(1, 5)),
        ([30, 20, 2], narrow.freq_chunks(1).windows(&[3, 1], &[8, 2, 5, 64]).flag_all_frac(0.5, 0.7)),
        ([10, 24, 1], narrow.background(2.0, 0).freq_chunks(30).outlier_nsigma(4.0)),
        ([12, 10, 2], usual.average_freq(16).windows(&[], &[])),
    ]
}

fn elementwise(s: &Subject) {
    let queue = s.ctx().queue("q");
    for (at, (shape, options)) in options().into_iter().enumerate() {
        let Decided { x, known, flags: expected } = decided(at as u64, shape, options);
        let found = flags(&queue, &x, &known, shape, options);
        let other = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert!(other.is_none(), "sample {other:?} of {shape:?} with {options:?}");
        // The interference of the larger arrays is found, and there is more than interference.
        assert!(x.len() < 1000 || (expected.contains(&0) && expected.contains(&1)), "{shape:?}");
    }
    let (shape, options) = options()[6];
    let Decided { x, known, flags: expected } = decided(6, shape, options);
    with_forms(s, || {
        assert!(flags(&queue, &x, &known, shape, options) == expected, "another form of the kernels");
    });
}

/// Returns the fraction of the samples that are flagged, of those that a condition selects.
fn fraction(found: &[u32], is_counted: impl Fn(usize, usize) -> bool) -> f64 {
    let is_flagged = |&at: &usize| found[at] != 0 && is_counted(at / CHANNELS, at % CHANNELS);
    (0..found.len()).filter(is_flagged).count() as f64 / found.len() as f64
}

fn noise_alone(s: &Subject) {
    let queue = s.ctx().queue("q");
    let known = vec![0; TIMES * CHANNELS];
    for (chunks, most) in [(1, 0.01), (4, 0.03)] {
        let options = SumThresholdFlagger::default().freq_chunks(chunks);
        let found = flags(&queue, &noise(601, TIMES * CHANNELS), &known, [TIMES, CHANNELS], options);
        let share = fraction(&found, |_, _| true);
        assert!(share < most, "{share} of the samples with {chunks} chunks");
    }
}

fn planted(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut x = noise(602, TIMES * CHANNELS);
    for (at, x) in x.iter_mut().enumerate() {
        *x += match (at / CHANNELS, at % CHANNELS) {
            (20, 30) => 12.0,
            (10, 70) => -12.0,
            (35, _) | (_, 50) => 8.0,
            (15..23, 80..86) => 4.0,
            _ => 0.0,
        };
    }
    let known = vec![0; x.len()];
    for chunks in [1, 4] {
        let options = SumThresholdFlagger::default().freq_chunks(chunks);
        let found = flags(&queue, &x, &known, [TIMES, CHANNELS], options);
        let is_flagged = |time: usize, channel: usize| found[time * CHANNELS + channel] == 1;
        // The flags extend by one time and one channel.
        for (time, channel) in [(20, 30), (10, 70)] {
            let mut around = (0..9).map(|at| (time + at / 3 - 1, channel + at % 3 - 1));
            assert!(around.all(|(time, channel)| is_flagged(time, channel)), "{time}, {channel}");
        }
        assert!((0..TIMES).all(|time| (49..52).all(|channel| is_flagged(time, channel))), "the channel");
        assert!((34..37).all(|time| (0..CHANNELS).all(|channel| is_flagged(time, channel))), "the time");
        let in_block =
            fraction(&found, |time, channel| (15..23).contains(&time) && (80..86).contains(&channel));
        assert!(in_block > 0.9 * 48.0 / x.len() as f64, "the block has {in_block}");
        let is_elsewhere = |time: usize, channel: usize| {
            let is_beside = |(t, c): (usize, usize)| time.abs_diff(t) <= 1 && channel.abs_diff(c) <= 1;
            let is_of_line = time.abs_diff(35) <= 1 || channel.abs_diff(50) <= 1;
            let is_of_block = (12..26).contains(&time) && (76..90).contains(&channel);
            !(is_of_line || is_of_block || is_beside((20, 30)) || is_beside((10, 70)))
        };
        let elsewhere = fraction(&found, is_elsewhere);
        assert!(elsewhere < 0.03, "{elsewhere} elsewhere with {chunks} chunks");
    }
}

fn weak_channel(s: &Subject) {
    let queue = s.ctx().queue("q");
    // No single sample of the channel is above the threshold, and no other windows are compared with one.
    let options = SumThresholdFlagger::default().freq_chunks(1).windows(&[], &[1]).extend(1, 1);
    let known = vec![0; TIMES * CHANNELS];
    for (strength, expected) in [(0.0, 0..8), (2.0, TIMES..TIMES + 1)] {
        let mut x = noise(603, TIMES * CHANNELS);
        x.iter_mut().skip(64).step_by(CHANNELS).for_each(|x| *x += strength);
        let found = flags(&queue, &x, &known, [TIMES, CHANNELS], options);
        let of_channel = found.iter().skip(64).step_by(CHANNELS).sum::<u32>() as usize;
        assert!(expected.contains(&of_channel), "{of_channel} flags for {strength}");
        assert!(fraction(&found, |_, channel| channel != 64) < 0.01);
    }
}

fn variable_noise(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(604);
    let share = |at: usize| (at % CHANNELS) as f32 / CHANNELS as f32;
    let mut x: Vec<f32> = (0..TIMES * CHANNELS).map(|at| 11.0 + share(at) * normal(&mut rng)).collect();
    for time in 29..32 {
        x[time * CHANNELS + 59..time * CHANNELS + 62].fill(11.0);
    }
    x[20 * CHANNELS + 5] = 13.0; // more than ten standard deviations of its chunk
    x[30 * CHANNELS + 60] = 12.2; // two standard deviations
    let known = vec![0; x.len()];
    let options = SumThresholdFlagger::default().freq_chunks(4).windows(&[1], &[1]);
    let found = flags(&queue, &x, &known, [TIMES, CHANNELS], options);
    assert_eq!((found[20 * CHANNELS + 5], found[30 * CHANNELS + 60]), (1, 0));
}

fn known(s: &Subject) {
    let queue = s.ctx().queue("q");
    let half = TIMES / 2 * CHANNELS;
    let mut x = noise(605, TIMES * CHANNELS);
    x[40 * CHANNELS + 10] = 32.0;
    x[40 * CHANNELS + 60] = 22.0;
    let known: Vec<u32> = (0..x.len()).map(|at| u32::from(at < half) * 9).collect();
    let options = SumThresholdFlagger::default().freq_chunks(2).windows(&[1], &[1]).extend(1, 1);
    let found = flags(&queue, &x, &known, [TIMES, CHANNELS], options);
    assert_eq!((found[40 * CHANNELS + 10], found[40 * CHANNELS + 60]), (1, 0));
    // As many strong samples would hide the other ones.
    x[..half].iter_mut().for_each(|x| *x += 1000.0);
    assert!(flags(&queue, &x, &known, [TIMES, CHANNELS], options) == found);
    x[..half].fill(f32::NAN);
    assert!(flags(&queue, &x, &known, [TIMES, CHANNELS], options)[half..] == found[half..]);
}

fn all_known(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = noise(606, 20 * 30 * 2);
    let known = vec![1; x.len()];
    for average in [1, 4] {
        let options = SumThresholdFlagger::default().average_freq(average);
        assert_eq!(flags(&queue, &x, &known, [20, 30, 2], options), vec![0; x.len()], "{average}");
        let zeros = vec![0.0; x.len()];
        let none = vec![0; x.len()];
        assert_eq!(flags(&queue, &zeros, &none, [20, 30, 2], options), none, "zeros, {average}");
    }
}

fn long_windows(s: &Subject) {
    let queue = s.ctx().queue("q");
    // There are fewer channels than elements of a window, which katsdpsigproc compares with the number of channels.
    let shape = [32, 4];
    let sample = |at: usize| {
        let time = at / 4;
        let channel = at % 4;
        let noise = [-1.0, -0.5, 0.5, 1.0][(time * 7 + channel * 3 + time / 4) % 4];
        10.0 + noise + if channel == 2 && (12..20).contains(&time) { 4.0 } else { 0.0 }
    };
    let x: Vec<f32> = (0..128).map(sample).collect();
    let known = vec![0; 128];
    let options = SumThresholdFlagger::default().freq_chunks(1).extend(1, 1);
    // No single sample is above its threshold.
    assert_eq!(flags(&queue, &x, &known, shape, options.windows(&[1], &[])), known);
    let found = flags(&queue, &x, &known, shape, options.windows(&[8], &[]));
    for (at, flag) in found.into_iter().enumerate() {
        let time = at / 4;
        let is_of_channel = at % 4 == 2;
        assert!(flag == 1 || !(is_of_channel && (12..20).contains(&time)), "time {time} is missing");
        assert!(flag == 0 || (is_of_channel && (8..24).contains(&time)), "sample {at}");
    }
    assert_eq!(flags(&queue, &x, &known, shape, options.windows(&[33, 64], &[5])), known);
}

fn fractions(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut x = noise(607, TIMES * CHANNELS);
    for (at, x) in x.iter_mut().enumerate() {
        let time = at / CHANNELS;
        let channel = at % CHANNELS;
        let is_found = (time == 12 && channel < 70) || (channel == 80 && time >= 28);
        *x += if is_found { 30.0 } else { 0.0 };
    }
    let known = vec![0; x.len()];
    let options = SumThresholdFlagger::default().freq_chunks(1).windows(&[1], &[]).extend(1, 1);
    for (of_times, of_channels) in [(0.3, 0.9), (0.9, 0.5), (0.9, 0.9)] {
        let options = options.flag_all_frac(of_times, of_channels);
        let found = flags(&queue, &x, &known, [TIMES, CHANNELS], options);
        let in_time = found[12 * CHANNELS..13 * CHANNELS].iter().sum::<u32>() as usize;
        let in_channel = found.iter().skip(80).step_by(CHANNELS).sum::<u32>() as usize;
        assert!(in_time >= 70 && in_channel >= TIMES - 28, "{in_time} channels and {in_channel} times");
        assert_eq!(in_time == CHANNELS, of_channels < 0.7, "{in_time} channels");
        assert_eq!(in_channel == TIMES, of_times < 0.4, "{in_channel} times");
    }
}

fn series(s: &Subject) {
    let queue = s.ctx().queue("q");
    let options = SumThresholdFlagger::default().freq_chunks(3).spike_width(2.0, 3.0);
    let Decided { x, known, flags: expected } = decided(608, [16, 30, 6], options);
    assert_eq!(flags(&queue, &x, &known, [16, 30, 2, 3], options), expected);
    for one in 0..6 {
        let part = |list: &[u32]| list.iter().skip(one).step_by(6).copied().collect::<Vec<u32>>();
        let x: Vec<f32> = x.iter().skip(one).step_by(6).copied().collect();
        assert_eq!(flags(&queue, &x, &part(&known), [16, 30], options), part(&expected), "series {one}");
    }
}

fn not_finite(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut x = noise(609, TIMES * CHANNELS);
    let places =
        [(0, 0), (7, 50), (TIMES - 1, CHANNELS - 1)].map(|(time, channel)| time * CHANNELS + channel);
    let known = vec![0; x.len()];
    // No window is compared with a threshold.
    let options = SumThresholdFlagger::default().windows(&[], &[]);
    assert_eq!(flags(&queue, &x, &known, [TIMES, CHANNELS], options), known);
    for (place, number) in places.into_iter().zip([f32::NAN, f32::INFINITY, f32::NEG_INFINITY]) {
        x[place] = number;
    }
    let found = flags(&queue, &x, &known, [TIMES, CHANNELS], options);
    let flagged: Vec<usize> = (0..x.len()).filter(|&at| found[at] == 1).collect();
    assert_eq!(flagged, places);
}

fn captured(s: &Subject) {
    let queue = s.ctx().queue("q");
    let shape = [12, 25, 1];
    let options = SumThresholdFlagger::default().freq_chunks(2).average_freq(2).spike_width(2.0, 3.0);
    let Decided { x, known, flags: expected } = decided(610, shape, options);
    let of_known = queue.array(&known).unwrap().reshape(shape).unwrap();
    // The sign of a sample does not count.
    let negative: Vec<f32> = x.iter().map(|x| -x).collect();
    let zeros = vec![0.0; x.len()];
    check_replays(
        &queue,
        queue.zeros::<f32, 3>(shape).unwrap(),
        x.len(),
        |queue, x, out: &DeviceArray<u32>| {
            queue.flag_interference(x, &of_known, &mut out.reshape(shape)?, options)
        },
        [x, zeros, negative],
        |list, found| {
            let has_samples = list.iter().any(|&x| x != 0.0);
            assert!(has_samples && found == expected || !has_samples && found.iter().all(|&flag| flag == 0));
        },
    );
}

fn hazard(s: &Subject) {
    let verb: Verb = |queue, x, out| {
        let shape = [10, 30];
        let samples = x.cast_bits::<f32>().reshape(shape)?;
        let options = SumThresholdFlagger::default().average_freq(2).spike_width(1.0, 1.0);
        queue.flag_interference(&samples, &x.reshape(shape)?, &mut out.reshape(shape)?, options)
    };
    enqueue_nothing_with_a_hazard(s, 300, &[verb]);
}

fn empty(s: &Subject) {
    fn call<const D: usize>(ctx: &Context, queue: &CommandQueue, shape: [usize; D]) -> Result<()> {
        let x = ctx.zeros::<f32, D>(shape)?;
        let known = ctx.zeros::<u32, D>(shape)?;
        queue.flag_interference(&x, &known, &mut ctx.zeros(shape)?, SumThresholdFlagger::default())
    }
    check_of_failed(s, |ctx, queue| {
        call(ctx, queue, [0, 5])?;
        call(ctx, queue, [5, 0])?;
        call(ctx, queue, [3, 4, 0])
    });
    let (ctx, queue) = s.with_queue("q");
    queue.full([1], 0_u32).unwrap(); // the dump has the queues with commands
    let before = dump::enqueued(&ctx, "q");
    call(&ctx, &queue, [0, 70_000]).unwrap();
    assert_eq!(dump::enqueued(&ctx, "q"), before);
}

fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let other = s.ctx().queue("other");
    let x = queue.full([4, 6], 1.0_f32).unwrap();
    let known = queue.full([4, 6], 0_u32).unwrap();
    let mut out = queue.full([4, 6], 7_u32).unwrap();
    let line = queue.zeros::<f32, 1>([24]).unwrap();
    let words = queue.zeros::<u32, 1>([24]).unwrap();
    let turned = queue.zeros::<u32, 2>([6, 4]).unwrap();
    let foreign = other.zeros::<u32, 2>([4, 6]).unwrap();
    let padded = queue.zeros::<f32, 2>(Shape::padded([4, 6], [4, 8])).unwrap();
    let before = dump::enqueued(&ctx, "q");
    let usual = SumThresholdFlagger::default();
    for options in [
        usual.outlier_nsigma(-1.0),
        usual.outlier_nsigma(f64::NAN),
        usual.windows(&[1, 0], &[1]),
        usual.windows(&[1], &[129]),
        usual.background(f64::INFINITY, 1),
        usual.background(2.0, 1000),
        usual.spike_width(-1.0, 1.0),
        usual.spike_width(1.0, 1183.0),
        usual.extend(2, 3),
        usual.extend(3, 0),
        usual.extend(1, 2049),
        usual.freq_chunks(0),
        usual.spike_width(0.0, 0.0).background(2.0, 101),
        usual.average_freq(0),
        usual.flag_all_frac(f64::NAN, 0.8),
        usual.rho(0.0),
    ] {
        let error = assert_refused!(queue.flag_interference(&x, &known, &mut out, options), Value);
        let start = "verb `flag_interference`, argument `options`: ";
        assert!(error.to_string().starts_with(start), "{error}");
    }
    let error = assert_refused!(queue.flag_interference(&x, &turned, &mut out, usual), Shape);
    assert!(error.to_string().starts_with("verb `flag_interference`, argument `known`: "), "{error}");
    assert_refused!(queue.flag_interference(&x, &known, &mut turned.clone(), usual), Shape);
    assert_refused!(
        queue.flag_interference(&line, &words, &mut words.clone(), usual),
        Axis { axis: 1, rank: 1, .. }
    );
    assert_refused!(queue.flag_interference(&x, &known, &mut x.cast_bits(), usual), Aliased);
    assert_refused!(queue.flag_interference(&x, &out.clone(), &mut out, usual), Aliased);
    assert_refused!(queue.flag_interference(&x, &foreign, &mut out, usual), ForeignContext);
    assert_refused!(queue.flag_interference(&padded, &known, &mut out, usual), Padding);
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    assert_eq!(queue.read(&out).wait().unwrap(), [7; 24]);
}
