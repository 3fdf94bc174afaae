//! The steps that map arrays.

use super::waits::{Done, Wrong, compare};
use super::worker::Worker;
use fencepost::ErrorDetail;

impl Worker<'_> {
    /// Maps a part of an array, and compares its elements.
    pub fn map_read(&mut self) -> Done {
        self.some_array(|owned| !owned.part).map_or(Ok(()), |at| self.map_read_of(at))
    }

    /// Maps a part of an array, compares its elements, and changes them.
    pub fn map_write(&mut self) -> Done {
        self.some_array(|owned| !owned.part).map_or(Ok(()), |at| self.map_write_of(at))
    }

    pub fn map_read_of(&mut self, at: usize) -> Done {
        let range = self.some_range(self.arrays[at].len());
        let part = self.arrays[at].array.slice(range.clone())?;
        let pending = part.map_read();
        let way = self.way();
        self.say(|| format!("maps to read, {way:?}"));
        let Some(map) = self.wait(pending, way)? else { return Ok(()) };
        compare(&map, &self.arrays[at].words[range], || "a map".into())?;
        self.while_mapped(at)
    }

    pub fn map_write_of(&mut self, at: usize) -> Done {
        let range = self.some_range(self.arrays[at].len());
        let words = self.some_words(range.len());
        let part = self.arrays[at].array.slice(range.clone())?;
        let pending = part.map_write();
        let way = self.way();
        self.say(|| format!("maps to write, {way:?}"));
        let Some(mut map) = self.wait(pending, way)? else { return Ok(()) };
        compare(&map, &self.arrays[at].words[range.clone()], || "a map".into())?;
        self.while_mapped(at)?;
        map.copy_from_slice(&words);
        drop(map);
        self.arrays[at].words[range].copy_from_slice(&words);
        Ok(())
    }

    /// Checks that every use of a mapped array is an error, and that work on other arrays continues.
    fn while_mapped(&mut self, at: usize) -> Done {
        let lane = self.lane_at(self.arrays[at].home);
        match lane.queue.fill(&mut self.arrays[at].array, 0) {
            Err(error) if matches!(error.detail(), ErrorDetail::Mapped { .. }) => {}
            other => return Err(Wrong(format!("a fill of a mapped array gives {other:?}"))),
        }
        if self.rng.u32(..3) == 0 {
            lane.queue.flush()?;
            self.pause();
        }
        Ok(())
    }
}
