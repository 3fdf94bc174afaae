//! Helpers for a program that itself uses wgpu on the device of a context.

use super::{Subject, raw};
use fencepost::{AdoptOptions, CommandQueue, Context};
use std::sync::mpsc::channel;
use wgpu::BufferUsages as Usages;

/// Usages that a buffer needs for arrays.
pub const FOR_ARRAYS: Usages = Usages::STORAGE.union(Usages::COPY_SRC).union(Usages::COPY_DST);

/// A wgpu device and its queue.
#[derive(Clone)]
pub struct Program {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
}

/// Returns two contexts, each with a queue `main` and a program on the same device. The first context opened its device,
/// the second adopted it.
pub fn beside(subject: &Subject) -> [(Context, CommandQueue, Program); 2] {
    let adopted = subject.adopt(raw::open(subject), AdoptOptions::default());
    [subject.ctx(), adopted].map(|ctx| {
        let queue = ctx.queue("main");
        let program = Program::of(&ctx);
        (ctx, queue, program)
    })
}

impl Program {
    pub fn of(ctx: &Context) -> Self {
        let (device, queue) = ctx.wgpu().expect("a real device");
        Self { device: device.clone(), queue: queue.clone() }
    }

    /// Returns an unwritten buffer for `len` words.
    pub fn buffer(&self, len: usize) -> wgpu::Buffer {
        self.buffer_for(len, FOR_ARRAYS)
    }

    pub fn buffer_for(&self, len: usize, usage: Usages) -> wgpu::Buffer {
        let label = Some("the program's");
        let size = 4 * len as u64;
        self.device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false })
    }

    /// Returns a mapped buffer.
    pub fn mapped(&self, len: usize, usage: Usages) -> wgpu::Buffer {
        let label = Some("the program's");
        let size = 4 * len as u64;
        self.device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: true })
    }

    /// Submits a copy of `words` to the start of a buffer.
    pub fn submit(&self, words: &[u32], buffer: &wgpu::Buffer) {
        let from = self.mapped(words.len(), Usages::COPY_SRC);
        let mut to = from.get_mapped_range_mut(..).unwrap();
        to.copy_from_slice(bytemuck::cast_slice(words));
        drop(to);
        from.unmap();
        self.copy(&from, buffer, words.len());
    }

    /// Writes `words` to the start of a buffer, and submits nothing.
    pub fn put(&self, words: &[u32], buffer: &wgpu::Buffer) {
        self.queue.write_buffer(buffer, 0, bytemuck::cast_slice(words));
    }

    /// Returns the first `len` words of a buffer. wgpu copies them.
    pub fn read(&self, buffer: &wgpu::Buffer, len: usize) -> Vec<u32> {
        let to = self.buffer_for(len, Usages::MAP_READ | Usages::COPY_DST);
        self.copy(buffer, &to, len);
        let (sender, receiver) = channel();
        to.map_async(wgpu::MapMode::Read, .., move |result| sender.send(result).unwrap());
        let result = loop {
            self.device.poll(wgpu::PollType::Poll).unwrap();
            if let Ok(result) = receiver.try_recv() {
                break result;
            }
            crate::common::thread::yield_now();
        };
        result.unwrap();
        bytemuck::cast_slice(&to.get_mapped_range(..).unwrap()).to_vec()
    }

    /// Destroys a buffer, as a program may do.
    #[expect(clippy::disallowed_methods, reason = "the test checks how a context reacts")]
    pub fn destroy(&self, buffer: &wgpu::Buffer) {
        buffer.destroy();
    }

    /// Submits a copy of the first `len` words of a buffer to another.
    pub fn copy(&self, from: &wgpu::Buffer, to: &wgpu::Buffer, len: usize) {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(from, 0, to, 0, 4 * len as u64);
        self.queue.submit([encoder.finish()]);
    }
}
