//! Computes the elements that a region selects with plain loops, and makes random regions.

use fastrand::Rng;
use fencepost::{NewAxis, Region, RegionAxis};

/// An item of a region.
#[derive(Clone, Copy, Debug)]
pub enum Item {
    At(isize),
    /// Start, end and step.
    Range(Option<isize>, Option<isize>, usize),
    New,
}

/// Shape of an array and a region of it.
#[derive(Clone, Debug)]
pub struct Picked {
    pub shape: Vec<usize>,
    pub items: Vec<Item>,
}

impl Picked {
    pub fn region(&self) -> Region {
        Region::new(self.items.iter().map(|&item| match item {
            Item::At(at) => RegionAxis::from(at),
            Item::New => RegionAxis::from(NewAxis),
            Item::Range(None, None, step) => RegionAxis::every(step as isize, ..),
            Item::Range(Some(start), None, step) => RegionAxis::every(step as isize, start..),
            Item::Range(None, Some(end), step) => RegionAxis::every(step as isize, ..end),
            Item::Range(Some(start), Some(end), step) => RegionAxis::every(step as isize, start..end),
        }))
    }

    /// Returns the elements that the region selects, in C order, as indices of the flat array.
    pub fn elements(&self) -> Vec<usize> {
        let mut items = self.items.iter().filter(|item| !matches!(item, Item::New));
        let mut flat = vec![0];
        for &len in &self.shape {
            let indices = items.next().map_or_else(|| (0..len).collect(), |&item| on_axis(item, len));
            flat = flat.iter().flat_map(|&at| indices.iter().map(move |&i| at * len + i)).collect();
        }
        flat
    }

    /// Returns the shape of the selected elements.
    pub fn picked_shape(&self) -> Vec<usize> {
        let mut shape = Vec::new();
        let mut lens = self.shape.iter();
        for &item in &self.items {
            match item {
                Item::New => shape.push(1),
                Item::At(_) => drop(lens.next()),
                Item::Range(..) => shape.extend(lens.next().map(|&len| on_axis(item, len).len())),
            }
        }
        shape.extend(lens);
        shape
    }
}

/// Returns the indices that an item selects on an axis.
fn on_axis(item: Item, len: usize) -> Vec<usize> {
    let counted = |at: isize| if at < 0 { len - at.unsigned_abs() } else { at as usize };
    match item {
        Item::At(at) => vec![counted(at)],
        Item::Range(start, end, step) => {
            let mut at = start.map_or(0, counted);
            let end = end.map_or(len, counted);
            let mut indices = Vec::new();
            while at < end {
                indices.push(at);
                at += step;
            }
            indices
        }
        Item::New => Vec::new(),
    }
}

/// Returns an index that counts from the start or, as a negative number, from the end.
fn either_way(rng: &mut Rng, at: usize, len: usize) -> isize {
    if rng.bool() && at < len { at as isize - len as isize } else { at as isize }
}

fn range(rng: &mut Rng, start: usize, end: usize, step: usize, len: usize) -> Item {
    let from = (start > 0 || rng.bool()).then(|| either_way(rng, start, len));
    let to = (end < len || rng.bool()).then(|| either_way(rng, end, len));
    Item::Range(from, to, step)
}

/// Returns a random region of a random array of `rank` axes.
pub fn any(rng: &mut Rng, rank: usize) -> Picked {
    let shape: Vec<usize> = (0..rank).map(|_| rng.usize(1..=7)).collect();
    let named = if rng.u32(0..4) == 0 { rng.usize(0..=rank) } else { rank };
    let mut items = Vec::new();
    for &len in &shape[..named] {
        if rng.u32(0..8) == 0 {
            items.push(Item::New);
        }
        items.push(match rng.u32(0..6) {
            0 => {
                let at = rng.usize(0..len);
                Item::At(either_way(rng, at, len))
            }
            1 | 2 => Item::Range(None, None, rng.usize(1..=2)),
            _ => {
                let start = rng.usize(0..len);
                let end = rng.usize(start + 1..=len);
                let step = rng.usize(1..=3);
                range(rng, start, end, step, len)
            }
        });
    }
    Picked { shape, items }
}

/// Returns a random region of the shape `picked`, in an array of `rank` axes; `None` if `rank` axes are too few.
pub fn of_shape(rng: &mut Rng, picked: &[usize], rank: usize) -> Option<Picked> {
    let mut shape = Vec::new();
    let mut items = Vec::new();
    for &count in picked {
        if count == 1 && rng.bool() {
            items.push(Item::New);
            continue;
        }
        let before = rng.usize(0..3);
        let step = rng.usize(1..=3);
        let after = rng.usize(0..3);
        let end = before + (count - 1) * step + 1;
        let len = end + after;
        let end = rng.usize(end..=len.min(end + step - 1));
        shape.push(len);
        items.push(range(rng, before, end, step, len));
    }
    while shape.len() < rank {
        let len = rng.usize(1..=3);
        let place = rng.usize(0..=items.len());
        let axis = items[..place].iter().filter(|item| !matches!(item, Item::New)).count();
        let at = rng.usize(0..len);
        shape.insert(axis, len);
        items.insert(place, Item::At(either_way(rng, at, len)));
    }
    (shape.len() == rank).then_some(Picked { shape, items })
}
