//! 10. Runs a service: an axum server computes for many clients at once, and limits its memory.
//!
//! Run `cargo run --example 10_service`. With `-- --trace FILE.html` the file shows when each command ran.

#[path = "common/args.rs"]
mod args;
#[path = "service/client.rs"]
mod client;

use anyhow::{Result, ensure};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Router, routing::post};
use fencepost::prelude::*;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};

#[derive(KernelArgs)]
#[kernel(wgsl = "
    struct Params { rounds: u32 }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read_write> x: array<u32>;

    @compute @workgroup_size(64)
    fn scramble(@builtin(global_invocation_id) id: vec3<u32>) {
        if id.x >= arrayLength(&x) { return; }
        for (var i = 0u; i < params.rounds; i++) { x[id.x] = x[id.x] * 1664525u + 1013904223u; }
    }
")]
struct Scramble<'a> {
    rounds: u32,
    x: &'a mut DeviceArray<u32>,
}

const ROUNDS: u32 = 200;
const CLIENTS: u32 = 100;
const NUMBERS: u32 = 4096; // numbers of each client
const JOBS: usize = 4; // jobs that the device has at once

/// Objects that all requests share.
struct Service {
    queue: CommandQueue,
    scramble: Kernel<Scramble<'static>>,
    jobs: Arc<Semaphore>,
}

/// Answers a request. If all permits are taken, the request waits. So the device has arrays for only a few requests,
/// even if many are pending.
async fn answer(State(service): State<Arc<Service>>, body: Bytes) -> Result<Vec<u8>, (StatusCode, String)> {
    let (words, []) = body.as_chunks::<4>() else {
        return Err((StatusCode::BAD_REQUEST, format!("{} bytes are not a whole number of u32", body.len())));
    };
    let numbers: Vec<u32> = words.iter().copied().map(u32::from_le_bytes).collect();
    let failed = |error: &dyn std::fmt::Display| (StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let place = service.jobs.clone().acquire_owned().await.map_err(|error| failed(&error))?;
    // If the client disconnects, this function is dropped at its await. The task is not dropped: its permit stays taken
    // until the device is done with the job.
    let job = tokio::spawn(async move {
        let result = compute(&service, &numbers).await;
        drop(place);
        result
    });
    let result = job.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
    Ok(result.into_iter().flat_map(u32::to_le_bytes).collect())
}

async fn compute(service: &Service, numbers: &[u32]) -> fencepost::Result<Vec<u32>> {
    let mut x = service.queue.array(numbers)?;
    let grid = Grid::threads([x.len()]);
    service.queue.launch(&service.scramble, grid, Scramble { rounds: ROUNDS, x: &mut x })?;
    service.queue.read(&x).await
}

#[tokio::main]
async fn main() -> Result<()> {
    let trace = args::trace();
    let ctx = Context::new().await?;
    println!("running on {}", ctx.info());
    let trace = trace.map(|file| (ctx.profile(), file));
    let queue = ctx.queue("requests");
    let scramble = ctx.kernel::<Scramble>()?;
    let service = Arc::new(Service { queue, scramble, jobs: Arc::new(Semaphore::new(JOBS)) });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = Router::new().route("/scramble", post(answer)).with_state(service.clone());
    let (stop, stopped) = oneshot::channel::<()>();
    let server = axum::serve(listener, app).with_graceful_shutdown(async { drop(stopped.await) });
    let server = tokio::spawn(server.into_future());

    let clients: Vec<_> = (0..CLIENTS).map(|id| tokio::spawn(client::client(address, id))).collect();
    let mut answers = 0;
    for client in clients {
        answers += u32::from(client.await??);
    }
    drop(stop);
    server.await??;
    drop(service.jobs.acquire_many(JOBS as u32).await?); // waits for the jobs of disconnected clients too

    let stats = ctx.pool().stats();
    let limit = JOBS as u64 * u64::from(NUMBERS) * 4;
    let is_small = stats.used == 0 && stats.high_water <= limit;
    ensure!(is_small, "{JOBS} jobs have arrays of {limit} bytes, and the pool had {stats:?}");
    if let Some((profiler, file)) = trace {
        profiler.finish().await?.write(file)?;
    }
    println!(
        "{answers} answers verified on the CPU, {} clients disconnected, at most {} bytes",
        CLIENTS - answers,
        stats.high_water
    );
    Ok(())
}
