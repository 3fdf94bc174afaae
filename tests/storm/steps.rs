//! Draws the steps of a thread.

use super::waits::Done;
use super::worker::Worker;

/// Name, frequency and function of a step.
type Step<W> = (&'static str, u32, fn(&mut W) -> Done);

impl Worker<'_> {
    const STEPS: [Step<Self>; 35] = [
        ("makes an array", 8, Self::make),
        ("drops an array", 3, Self::drop_array),
        ("fills", 8, Self::fill),
        ("uploads", 7, Self::upload),
        ("copies", 10, Self::copy),
        ("copies inside an array", 2, Self::copy_inside),
        ("copies between two shapes", 4, Self::copy_region),
        ("uploads to a region", 2, Self::upload_region),
        ("reads a region", 3, Self::read_region),
        ("launches", 10, Self::launch),
        ("encodes", 2, Self::encode),
        ("reads", 10, Self::read),
        ("reads what all threads read", 2, Self::read_constants),
        ("waits for a read", 9, Self::end_one),
        ("maps to read", 5, Self::map_read),
        ("maps to write", 5, Self::map_write),
        ("uploads from a pinned array", 4, Self::upload_pinned),
        ("downloads to a pinned array", 4, Self::download),
        ("reads a pinned array", 3, Self::end_download),
        ("enqueues a marker", 6, Self::mark),
        ("waits for an event", 5, Self::end_event),
        ("makes a queue wait", 6, Self::wait_on_device),
        ("requests a time", 1, Self::ask_for_times),
        ("makes a user event", 5, Self::user_event),
        ("signals", 2, Self::signal),
        ("flushes", 4, Self::flush),
        ("finishes", 5, Self::finish_queue),
        ("synchronizes", 2, Self::synchronize),
        ("makes or drops a queue", 5, Self::change_queues),
        ("enqueues a callback", 6, Self::callback),
        ("gives an array or a read", 6, Self::give),
        ("takes an array and a read", 8, Self::take),
        ("makes a queue fail", 2, Self::fail),
        ("enqueues many commands at once", 5, Self::burst),
        ("inspects a context", 2, Self::look),
    ];

    /// Draws a step and executes it.
    pub fn step(&mut self) -> Done {
        let all: u32 = Self::STEPS.iter().map(|(_, share, _)| share).sum();
        // One step in a hundred opens a context.
        if self.rng.u32(..100) == 0 {
            self.say(|| "works with a context of its own".into());
            return self.temporary();
        }
        let mut left = self.rng.u32(..all);
        for (name, share, step) in Self::STEPS {
            if left < share {
                self.say(|| name.into());
                step(self)?;
                break;
            }
            left -= share;
        }
        if self.rng.u32(..8) == 0 {
            self.pause();
        }
        Ok(())
    }
}
