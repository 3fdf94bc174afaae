//! A26: the search for the fastest variant, with given times in place of those of a clock.

use super::*;
use crate::common::block_on;
use fencepost::algorithms::{TimedRound, variant_tables, with_times};
use fencepost::graph::Contents;
use fencepost::tuning::TunedChoice;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("a26_a_variant_is_taken_only_if_it_saves_time", winners),
        case("a26_a_variant_that_loses_its_first_round_is_given_up", given_up),
        case("a26_a_variant_near_the_highest_rate_of_copies_ends_the_search", near_the_rate_of_copies),
        case(
            "a26_a_variant_near_the_highest_rate_of_operations_ends_the_search",
            near_the_rate_of_operations,
        )
        .not_in_a_page("in a page, a call cannot wait for a measurement"),
        case("a26_the_highest_rates_are_measured_once", rates),
        case("a26_a_first_call_begins_no_measurement_after_two_seconds", two_seconds)
            .not_in_a_page("in a page, a call cannot wait for a measurement"),
        case("a26_many_elements_are_not_measured_if_the_time_does_not_suffice", too_many),
        case("a26_a_measured_variant_of_products_is_taken", product)
            .on_devices("the CPU recorder interprets the measured products too slowly"),
    ]
}

/// Seconds of a copy of 4,096 elements. A sort moves 96 bytes of an element and a copy 8, so at the rate of the copy, a
/// sort of as many takes 0.024 seconds.
const COPY: f64 = 0.002;
/// Rounds of a variant that is not given up.
const ROUNDS: usize = 5;

/// A variant of some kernels: the name of its rounds, and its choice in a table.
struct ListedVariant {
    name: String,
    choice: TunedChoice,
}

/// Returns the variants of some kernels for few elements. The first one is the default.
fn listed(ctx: &Context, kernels: Tunable) -> Vec<ListedVariant> {
    let of_few = |(name, table): (String, TuningTable)| {
        let choice = table.choices().iter().find(|choice| choice.size.to_string() == "few")?;
        (choice.kernels == kernels.name()).then(|| ListedVariant { name, choice: choice.clone() })
    };
    variant_tables(ctx).into_iter().filter_map(of_few).collect()
}

/// Returns the number of rounds of a variant or of a kernel that measures a rate.
fn count(rounds: &[TimedRound], name: &str) -> usize {
    rounds.iter().filter(|round| round.what == name).count()
}

/// Calls `run`, while each call of a listed variant takes its number of seconds, and that of another kernel `other`.
fn with_seconds<R>(
    listed: &[ListedVariant],
    seconds: &[f64],
    other: f64,
    run: impl FnOnce() -> R,
) -> (R, Vec<TimedRound>) {
    assert_eq!(listed.len(), seconds.len());
    let names: Vec<String> = listed.iter().map(|variant| variant.name.clone()).collect();
    let times: Vec<(String, f64)> = names.into_iter().zip(seconds.iter().copied()).collect();
    let time = move |what: &str, _: usize| {
        times.iter().find(|(name, _)| name == what).map_or(other, |&(_, seconds)| seconds)
    };
    with_times(time, run)
}

/// Measures small sorts, whose default and two other variants take these seconds. Returns the choice, if there is one, and
/// the number of rounds of each.
fn tune_sorts(ctx: &Context, seconds: [f64; 3]) -> (Option<TunedChoice>, [usize; 3]) {
    let listed = listed(ctx, Tunable::SortSmall);
    let options = TuneOptions::default().kernels([Tunable::SortSmall]).limit(Duration::MAX);
    let (table, rounds) = with_seconds(&listed, &seconds, COPY, || block_on(ctx.tune(options)).unwrap());
    let counts = std::array::from_fn(|at| count(&rounds, &listed[at].name));
    (table.choices().iter().find(|choice| choice.kernels == "sort_small").cloned(), counts)
}

fn winners(s: &Subject) {
    let (ctx, _) = s.with_queue("q");
    let variants = listed(&ctx, Tunable::SortSmall);
    let (choice, _) = tune_sorts(&ctx, [0.0, 0.1, 0.1]);
    assert_eq!(choice, None, "a default without a time cannot be compared");
    for (seconds, winner) in [
        ([0.1, 0.2, 0.08], 2),
        ([0.1, 0.07, 0.08], 1),
        ([0.1, 0.08, 0.07], 2),
        ([0.1, 0.14, 0.12], 0),
        ([0.1, 0.096, 0.097], 0),
        ([0.1, 0.0, 0.09], 2),
        ([0.1, 0.0, 0.0], 0),
    ] {
        let (choice, _) = tune_sorts(&ctx, seconds);
        let choice = choice.expect("the default has a time");
        assert_eq!(choice.values, variants[winner].choice.values, "{seconds:?}");
        assert_eq!([choice.seconds, choice.default_seconds], [seconds[winner], 0.1], "{seconds:?}");
    }
}

fn given_up(s: &Subject) {
    let (ctx, _) = s.with_queue("q");
    for (seconds, rounds) in [
        ([0.1, 0.151, 0.149], [ROUNDS, 1, ROUNDS]),
        // A variant is compared with the fastest one so far.
        ([0.1, 0.05, 0.08], [ROUNDS, ROUNDS, 1]),
    ] {
        assert_eq!(tune_sorts(&ctx, seconds).1, rounds, "{seconds:?}");
    }
}

fn near_the_rate_of_copies(s: &Subject) {
    let (ctx, _) = s.with_queue("q");
    for (seconds, rounds) in [
        ([0.06, 0.0266, 0.02], [ROUNDS, ROUNDS, 0]),
        ([0.06, 0.0268, 0.025], [ROUNDS, ROUNDS, ROUNDS]),
        ([0.0266, 0.02, 0.02], [ROUNDS, 0, 0]),
    ] {
        assert_eq!(tune_sorts(&ctx, seconds).1, rounds, "{seconds:?}");
    }
}

/// Returns the inner product of 100 ones.
fn product_of_ones(queue: &CommandQueue) -> Vec<f32> {
    let x = queue.full([100], 1.0_f32).unwrap();
    let mut out = queue.zeros([1]).unwrap();
    queue.dot(&x, &x, &mut out).unwrap();
    queue.read(&out).wait().unwrap()
}

fn near_the_rate_of_operations(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let variants = listed(&ctx, Tunable::Reduce);
    // 131,072 operations take 0.05 seconds, so an inner product of 4,096 elements takes 0.003125 seconds at this rate. At
    // that of the copies, it is faster.
    let rate = 0.05;
    for (second, is_near) in [(0.0034, true), (0.0036, false)] {
        ctx.set_tuning(TuningChoice::OnFirstUse);
        let mut seconds = vec![0.01; variants.len()];
        seconds[1] = second;
        let names: Vec<String> = variants.iter().map(|variant| variant.name.clone()).collect();
        let time = move |what: &str, _: usize| match names.iter().position(|name| name == what) {
            Some(at) => seconds[at],
            None if what == "multiply_add" => rate,
            None => COPY,
        };
        let (found, rounds) = with_times(time, || product_of_ones(&queue));
        assert_eq!(found, [100.0]);
        let counts: Vec<usize> = variants.iter().map(|variant| count(&rounds, &variant.name)).collect();
        assert_eq!(counts[..2], [ROUNDS; 2], "{second}");
        assert!(counts[2..].iter().all(|&rounds| (rounds == 0) == is_near), "{second}: {counts:?}");
        let table = ctx.tuning_table();
        let [choice] = table.choices() else { panic!("one case is measured: {table}") };
        assert_eq!(choice.values, variants[1].choice.values);
    }
}

fn rates(s: &Subject) {
    let kernels = ["copy", "multiply_add"];
    let rounds_of = |ctx: &Context| {
        let listed = listed(ctx, Tunable::SortSmall);
        let options = TuneOptions::default().kernels([Tunable::SortSmall]).limit(Duration::MAX);
        let tuned = || block_on(ctx.tune(options)).unwrap();
        let (table, rounds) = with_seconds(&listed, &[0.1, 0.1, 0.1], COPY, tuned);
        (table, kernels.map(|name| count(&rounds, name)))
    };
    let ctx = s.ctx();
    let (table, rounds) = rounds_of(&ctx);
    assert_eq!(rounds, [ROUNDS; 2]);
    let rates = table.ceilings().expect("the rates are measured");
    let expected = [8.0 * 4096.0 / COPY, 128.0 * 1024.0 / COPY];
    assert_eq!([rates.bytes_per_second, rates.operations_per_second], expected);
    let (again, rounds) = rounds_of(&ctx);
    assert_eq!((again, rounds), (table.clone(), [0; 2]));
    ctx.set_tuning(TuningChoice::Defaults);
    assert_eq!(rounds_of(&ctx), (table.clone(), [0; 2]), "another source of choices keeps the rates");
    let other = s.ctx();
    other.set_tuning(TuningChoice::Table(table.clone()));
    assert_eq!(rounds_of(&other), (table, [0; 2]), "a table has the rates of its adapter");
}

/// Sorts 100 elements.
fn check_sort(queue: &CommandQueue) {
    let list: Vec<u32> = (0..100).map(|i| i * 37 % 101).collect();
    let mut sorted = list.clone();
    sorted.sort_unstable();
    let x = queue.array(&list).unwrap();
    assert_eq!(guarded::<u32>(queue, 100, |out| queue.sort(&x, out, Sort::ascending())), sorted);
}

fn two_seconds(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    ctx.set_tuning(TuningChoice::OnFirstUse);
    let variants = listed(&ctx, Tunable::SortSmall);
    let seconds = [0.3, 0.25, 0.2];
    // The rates take 0.02 seconds and the default 1.5, so the second round of the next variant is the last one.
    let ((), rounds) = with_seconds(&variants, &seconds, COPY, || check_sort(&queue));
    let counts: Vec<usize> = variants.iter().map(|variant| count(&rounds, &variant.name)).collect();
    assert_eq!(counts, [ROUNDS, 2, 0]);
    let table = ctx.tuning_table();
    let [choice] = table.choices() else { panic!("one case is measured: {table}") };
    assert_eq!(choice.values, variants[1].choice.values);
    let ((), rounds) = with_seconds(&variants, &seconds, COPY, || check_sort(&queue));
    assert!(rounds.is_empty(), "a later call measures nothing: {rounds:?}");
}

fn too_many(s: &Subject) {
    let (ctx, _) = s.with_queue("q");
    let options = TuneOptions::default().kernels([Tunable::Transpose]).limit(Duration::from_secs(2));
    // As many as 256 times the elements would take 2.56 seconds with each variant.
    let tuned = || block_on(ctx.tune(options)).unwrap();
    let (table, rounds) = with_times(|what, _| if what == "copy" { COPY } else { 0.01 }, tuned);
    let sizes: Vec<String> = table.choices().iter().map(|choice| choice.size.to_string()).collect();
    assert_eq!(sizes, ["few"]);
    assert!(rounds.iter().all(|round| round.elements <= 4096), "{rounds:?}");
}

fn product(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let variants = listed(&ctx, Tunable::Matmul);
    let winner = variants.last().expect("there are variants");
    // At the rate of the chains, a measured product takes 0.128 seconds.
    let mut seconds = vec![2.0; variants.len()];
    seconds[0] = 1.0;
    *seconds.last_mut().expect("there are variants") = 0.5;
    // Many results would take 64 seconds with each variant.
    let options = TuneOptions::default().kernels([Tunable::Matmul]).limit(Duration::from_secs(60));
    let tuned = || block_on(ctx.tune(options)).unwrap();
    let (table, rounds) = with_seconds(&variants, &seconds, COPY, tuned);
    let counts: Vec<usize> = variants.iter().map(|variant| count(&rounds, &variant.name)).collect();
    assert!(counts[1..].iter().all(|&rounds| rounds > 0), "each variant is measured: {counts:?}");
    let [choice] = table.choices() else { panic!("one case is measured: {table}") };
    assert_eq!((&*choice.kernels, choice.size.to_string()), ("matmul", "few".to_owned()));
    assert_eq!((&choice.values, choice.hash), (&winner.choice.values, winner.choice.hash));
    let x = queue.zeros::<f32, 2>([40, 40]).unwrap();
    let out = queue.zeros::<f32, 2>([40, 40]).unwrap();
    let file = || {
        let mut result = out.clone();
        let (graph, ()) = queue.capture(|c| c.matmul(&x, &x, &mut result, Matmul::default())).unwrap();
        graph.to_bytes_with(Contents::Included).unwrap()
    };
    let measured = file();
    let (_, listed) = variant_tables(&ctx).into_iter().find(|(name, _)| *name == winner.name).unwrap();
    ctx.set_tuning(TuningChoice::Table(listed));
    assert!(file() == measured, "the verb takes the variant");
    ctx.set_tuning(TuningChoice::Defaults);
    assert!(file() != measured, "the variant is not the default");
    ctx.set_tuning(TuningChoice::Table(table));
    matmul::compare_all(&queue, &mut fastrand::Rng::with_seed(28), [33, 17, 35]);
}
