//! Steps that map arrays.

use super::waits::{Done, Wrong, compare};
use super::worker::Worker;
use fencepost::Kind;

impl Worker<'_> {
    /// Maps a part of an array, and compares what is there.
    pub fn map_read(&mut self) -> Done {
        match self.some_array(|owned| !owned.part) {
            Some(at) => self.map_read_of(at),
            None => Ok(()),
        }
    }

    /// Maps a part of an array, compares what is there, and changes it.
    pub fn map_write(&mut self) -> Done {
        match self.some_array(|owned| !owned.part) {
            Some(at) => self.map_write_of(at),
            None => Ok(()),
        }
    }

    pub fn map_read_of(&mut self, at: usize) -> Done {
        let range = self.some_range(self.arrays[at].len());
        let part = self.arrays[at].array.slice(range.clone())?;
        let (pending, way) = (part.map_read(), self.way());
        self.say(|| format!("maps to read, {way:?}"));
        let Some(map) = self.wait(pending, way)? else { return Ok(()) };
        compare(&map, &self.arrays[at].words[range], || "a map".into())?;
        self.while_mapped(at)
    }

    pub fn map_write_of(&mut self, at: usize) -> Done {
        let range = self.some_range(self.arrays[at].len());
        let words = self.some_words(range.len());
        let part = self.arrays[at].array.slice(range.clone())?;
        let (pending, way) = (part.map_write(), self.way());
        self.say(|| format!("maps to write, {way:?}"));
        let Some(mut map) = self.wait(pending, way)? else { return Ok(()) };
        compare(&map, &self.arrays[at].words[range.clone()], || "a map".into())?;
        self.while_mapped(at)?;
        map.copy_from_slice(&words);
        drop(map);
        self.arrays[at].words[range].copy_from_slice(&words);
        Ok(())
    }

    /// While the guard lives, every use of the array is an error; work on other arrays goes on.
    fn while_mapped(&mut self, at: usize) -> Done {
        let lane = self.lane_at(self.arrays[at].home);
        match lane.queue.fill(&mut self.arrays[at].array, 0) {
            Err(error) if matches!(error.kind(), Kind::Mapped { .. }) => {}
            other => return Err(Wrong(format!("a fill of a mapped array gives {other:?}"))),
        }
        if self.rng.u32(..3) == 0 {
            lane.queue.flush()?;
            self.pause();
        }
        Ok(())
    }
}
