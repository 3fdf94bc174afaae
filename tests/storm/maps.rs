//! Steps that map arrays.

use super::known::AWAITED_MAPS;
use super::waits::{Done, Way, Wrong, compare};
use super::worker::Worker;
use fencepost::Kind;

impl Worker<'_> {
    /// Maps a part of an array, and compares what is there.
    pub fn map_read(&mut self) -> Done {
        let Some(at) = self.some_array(|owned| !owned.part) else { return Ok(()) };
        let range = self.some_range(self.arrays[at].len());
        let part = self.arrays[at].array.slice(range.clone())?;
        let (pending, way) = (part.map_read(), self.map_way());
        self.say(|| format!("maps to read, {way:?}"));
        let Some(map) = self.wait(pending, way)? else { return Ok(()) };
        compare(&map, &self.arrays[at].words[range], || "a map".into())?;
        self.while_mapped(at)
    }

    /// Maps a part of an array, compares what is there, and changes it.
    pub fn map_write(&mut self) -> Done {
        let Some(at) = self.some_array(|owned| !owned.part) else { return Ok(()) };
        let range = self.some_range(self.arrays[at].len());
        let words = self.some_words(range.len());
        let part = self.arrays[at].array.slice(range.clone())?;
        let (pending, way) = (part.map_write(), self.map_way());
        self.say(|| format!("maps to write, {way:?}"));
        let Some(mut map) = self.wait(pending, way)? else { return Ok(()) };
        compare(&map, &self.arrays[at].words[range.clone()], || "a map".into())?;
        self.while_mapped(at)?;
        map.copy_from_slice(&words);
        drop(map);
        self.arrays[at].words[range].copy_from_slice(&words);
        Ok(())
    }

    /// How to wait for a map: in every way that is not known to hang.
    fn map_way(&mut self) -> Way {
        match self.way() {
            Way::Await if !AWAITED_MAPS => Way::Block,
            // What has lost against another future is waited for, blocking or awaited.
            Way::Select(looks) if !AWAITED_MAPS => Way::SelectAndDrop(looks),
            way => way,
        }
    }

    /// While the guard lives, every use of the array is an error; work on other arrays goes on.
    fn while_mapped(&mut self, at: usize) -> Done {
        let lane = self.lane_at(self.arrays[at].home);
        match lane
            .queue
            .fill(&mut self.arrays[at].array, 0)
            .map_err(|error| matches!(error.kind(), Kind::Mapped { .. }))
        {
            Err(true) => {}
            other => return Err(Wrong(format!("a fill of a mapped array gives {other:?}"))),
        }
        if self.rng.u32(..3) == 0 {
            lane.queue.flush()?;
            self.pause();
        }
        Ok(())
    }
}
