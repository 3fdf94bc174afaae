//! 21. Finds the customers with the largest mean of five million orders. The number of groups stays on the device.
//!
//! Run `cargo run --release --example 21_groups`. `-- --rows 100000` makes fewer orders.

#[path = "groups/plain.rs"]
mod plain;
#[path = "common/trace.rs"]
mod trace;

use anyhow::Result;
use clap::{Parser, value_parser};
use fencepost::prelude::*;
use std::path::PathBuf;
use std::time::Instant;

/// Groups orders by customer on the device.
#[derive(Parser)]
#[command(after_help = HELP)]
struct Options {
    /// The number of orders
    #[arg(long, default_value_t = 5_000_000, value_parser = value_parser!(u32).range(10..))]
    rows: u32,
    /// Write what every queue did, and when, to a `.html` timeline or a `.json` trace for Perfetto
    #[arg(long, value_name = "FILE", value_parser = trace::file)]
    trace: Option<PathBuf>,
}

const HELP: &str = "Examples:
  cargo run --release --example 21_groups
  cargo run --release --example 21_groups -- --rows 100000
  FENCEPOST_ADAPTER=cpu cargo run --release --example 21_groups";

/// Number of customers. Those without an order are in no group.
const CUSTOMERS: u32 = 50_000;
const HOURS: usize = 24;
/// Number of customers in the list, at most the number of orders.
const LISTED: usize = 10;

struct Orders {
    customers: DeviceArray<u32>,
    hours: DeviceArray<u32>,
    amounts: DeviceArray<f32>,
}

/// The groups, on the host.
struct Groups {
    count: usize,
    /// Customers with the largest means, the largest first.
    listed: Vec<u32>,
    means: Vec<f32>,
    of_hours: Vec<f32>,
}

impl Orders {
    fn random(queue: &CommandQueue, rows: usize) -> Result<Self> {
        let [mut customers, mut hours, mut cents] =
            [queue.empty::<u32, 1>([rows])?, queue.empty([rows])?, queue.empty([rows])?];
        let mut amounts = queue.empty([rows])?;
        let stream = |number: u64| Philox::seed(19).stream(number);
        queue.fill_random(&mut customers, stream(0), Whole { low: 0, high: CUSTOMERS })?;
        queue.fill_random(&mut hours, stream(1), Whole { low: 0, high: HOURS as u32 })?;
        queue.fill_random(&mut cents, stream(2), Whole { low: 1, high: 10_001_u32 })?;
        queue.cast(&cents, &mut amounts)?;
        Ok(Self { customers, hours, amounts })
    }

    /// Groups the orders. The verbs read the number of groups on the device, and the host waits only for the results.
    fn grouped(&self, queue: &CommandQueue) -> Result<Groups> {
        let n = self.amounts.len();
        let [mut sorted, mut groups, mut sizes] = [queue.empty([n])?, queue.empty([n])?, queue.empty([n])?];
        let [mut amounts, mut sums, mut means] = [queue.empty([n])?, queue.empty([n])?, queue.empty([n])?];
        let mut count = queue.empty([1])?;
        queue.sort_pairs(&self.customers, &self.amounts, &mut sorted, &mut amounts, Sort::ascending())?;
        queue.run_lengths(&sorted, &mut groups, &mut sizes, &mut count)?;
        queue.reduce_by_key(&sorted, &amounts, Operation::Sum, &mut groups, &mut sums, &mut count)?;
        queue.zip(sums.first(&count), &sizes, "x / f32(y)", &mut means)?;

        let mut largest = queue.empty([LISTED])?;
        let [mut places, mut listed] = [queue.empty([LISTED])?, queue.empty([LISTED])?];
        queue.top_k(means.first(&count), &mut largest, &mut places)?;
        queue.gather(&groups, places.first(&count), Outside::Zero, &mut listed)?;
        let mut of_hours = queue.empty([HOURS])?;
        queue.histogram_weighted(&self.hours, &self.amounts, Bins::modulo(), &mut of_hours)?;

        let count = queue.get(&count, [0]);
        let means = queue.read(&largest);
        let listed = queue.read(&listed);
        let of_hours = queue.read(&of_hours);
        let count = count.wait()? as usize;
        let mut listed = listed.wait()?;
        listed.truncate(count); // the elements after those of the groups are not written
        Ok(Groups { count, listed, means: means.wait()?, of_hours: of_hours.wait()? })
    }
}

fn main() -> Result<()> {
    let Options { rows, trace } = Options::parse();
    let ctx = Context::new().wait()?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let queue = ctx.queue("groups");
    let orders = Orders::random(&queue, rows as usize)?;
    queue.finish().wait()?;

    let start = Instant::now();
    let groups = orders.grouped(&queue)?;
    let time = start.elapsed();
    for (customer, mean) in groups.listed.iter().zip(&groups.means) {
        println!("customer {customer:>5}  {mean:8.2} cents an order");
    }
    let [customers, hours] = [queue.read(&orders.customers).wait()?, queue.read(&orders.hours).wait()?];
    plain::verify(&customers, &hours, &queue.read(&orders.amounts).wait()?, &groups)?;
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }
    println!("verified on the CPU: {rows} orders in {} groups, in {time:?}", groups.count);
    Ok(())
}
