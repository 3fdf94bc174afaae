//! The steps with pinned host arrays.

use super::array::Access;
use super::waits::{Done, compare};
use super::worker::Worker;
use fencepost::{ErrorDetail, HostArray, HostRead, Result};

/// A pinned array to upload from, and its context.
pub struct Upload {
    host: HostArray<u32, fencepost::Upload>,
    home: usize,
}

/// A pinned array with a pending download, and its expected elements.
pub struct Download {
    host: HostArray<u32, fencepost::Download>,
    expected: Vec<u32>,
    from: String,
}

/// Number of elements of pinned arrays for uploads. `MOST` limits the number of arrays per thread and context.
const LEN: usize = 512;
const MOST: usize = 3;

impl Worker<'_> {
    pub fn upload_pinned(&mut self) -> Done {
        let Some((to, lane)) = self.chosen(Access::Write, |_| true)? else { return Ok(()) };
        let fitting: Vec<usize> =
            (0..self.uploads.len()).filter(|&at| self.uploads[at].home == lane.home).collect();
        let at = if fitting.is_empty() || (fitting.len() < MOST && self.rng.bool()) {
            let host = self.shared.homes[lane.home].ctx.pinned([LEN])?;
            self.uploads.push(Upload { host, home: lane.home });
            self.uploads.len() - 1
        } else {
            fitting[self.rng.usize(..fitting.len())]
        };
        let range = self.some_range(self.arrays[to].len().min(LEN));
        let words = self.some_words(LEN);
        self.release();
        let host = &mut self.uploads[at].host;
        if self.rng.bool() {
            host.host_mut()?.copy_from_slice(&words);
        } else {
            match unless_busy(host.try_host_mut())? {
                Some(mut elements) => elements.copy_from_slice(&words),
                None => return Ok(()),
            }
        }
        let mut part = self.arrays[to].array.slice(range.clone())?;
        lane.queue.upload(&self.uploads[at].host.slice(range.clone())?, &mut part)?;
        let start = range.start;
        self.arrays[to].change(range, |i, _| words[start + i]);
        self.used(to, &lane, Access::Write);
        if self.rng.u32(..4) == 0 {
            drop(self.uploads.swap_remove(at)); // the upload is in flight
        }
        Ok(())
    }

    pub fn download(&mut self) -> Done {
        let Some((from, lane)) = self.chosen(Access::Read, |_| true)? else { return Ok(()) };
        let range = self.some_range(self.arrays[from].len());
        let mut host = self.shared.homes[lane.home].ctx.pinned([range.len()])?;
        lane.queue.download(&self.arrays[from].array.slice(range.clone())?, &mut host)?;
        self.used(from, &lane, Access::Read);
        let expected = self.arrays[from].words[range].to_vec();
        if self.rng.u32(..6) > 0 {
            self.downloads.push(Download { host, expected, from: self.on(&lane) });
        }
        Ok(())
    }

    /// Reads a pinned array after its download.
    pub fn end_download(&mut self) -> Done {
        if self.downloads.is_empty() {
            return Ok(());
        }
        self.release();
        let at = self.rng.usize(..self.downloads.len());
        let Download { host, expected, from } = self.downloads.swap_remove(at);
        self.say(|| format!("reads the download of {from}"));
        let look =
            |found: HostRead<'_, u32>| compare(&found, &expected, || format!("the download of {from}"));
        let looked = match self.rng.bool() {
            true => Some(look(host.host()?)),
            false => unless_busy(host.try_host())?.map(look),
        };
        looked.unwrap_or_else(|| {
            self.downloads.push(Download { host, expected, from });
            Ok(())
        })
    }

    /// Reads all pinned arrays with a download.
    pub fn end_downloads(&mut self) -> Done {
        while !self.downloads.is_empty() {
            self.end_download()?;
        }
        Ok(())
    }
}

/// Returns the guard of a pinned array, or `None` if the device may still use the array.
fn unless_busy<G>(opened: Result<G>) -> Result<Option<G>> {
    match opened {
        Err(error) if matches!(error.detail(), ErrorDetail::Busy { .. }) => Ok(None),
        other => other.map(Some),
    }
}
