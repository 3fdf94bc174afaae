//! The container of a graph file. The mutation of an input takes it apart and puts it together with correct checksums,
//! as a changed input would not pass them otherwise.

use fastrand::Rng;

/// Bytes of the header; `ROW` is the bytes of a row of the table.
const HEADER: usize = 28;
const ROW: usize = 28;

/// A section with the kind and the flags of its row.
struct Section {
    head: [u8; 8],
    bytes: Vec<u8>,
}

/// Changes an input in place and returns its new size, which is at most `max_size`. `change` changes bytes as libFuzzer
/// does.
pub fn mutate(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    change: fn(&mut [u8], usize, usize) -> usize,
) -> usize {
    let mut rng = Rng::with_seed(seed.into());
    let sections = sections(&data[..size]);
    let Some(mut sections) = sections.filter(|_| rng.u32(0..16) > 0) else {
        return change(data, size, max_size);
    };
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(0..sections.len());
        change_section(&mut rng, &mut sections[at].bytes, change);
    }
    let file = assemble(&data[..HEADER], &sections);
    if file.len() > max_size {
        return change(data, size, max_size);
    }
    data[..file.len()].copy_from_slice(&file);
    file.len()
}

/// Changes the bytes of a section: a word becomes a number that is likely to hurt, a run of words is repeated or
/// removed, or libFuzzer changes any bytes.
fn change_section(rng: &mut Rng, bytes: &mut Vec<u8>, change: fn(&mut [u8], usize, usize) -> usize) {
    let words = bytes.len() / 4;
    match rng.u32(0..8) {
        0..=2 if words > 0 => {
            let at = rng.usize(0..bytes.len() - 3);
            let old = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
            let numbers =
                [old.wrapping_add(1), old.wrapping_sub(1), old ^ 4, 0, 1, 4, 256, 65_536, 1 << 31, u32::MAX];
            let new = numbers[rng.usize(0..numbers.len())];
            bytes[at..at + 4].copy_from_slice(&new.to_le_bytes());
        }
        3 if words > 1 => {
            let from = rng.usize(0..words);
            let to = rng.usize(0..words);
            let len = rng.usize(1..=(words - from.max(to)).min(16));
            bytes.copy_within(4 * from..4 * (from + len), 4 * to);
        }
        4 if words > 1 => {
            let at = rng.usize(0..words);
            let len = rng.usize(1..=(words - at).min(8));
            let stretch = bytes[4 * at..4 * (at + len)].to_vec();
            bytes.splice(4 * at..4 * at, stretch);
        }
        5 if words > 1 => {
            let at = rng.usize(0..words);
            let len = rng.usize(1..=(words - at).min(8));
            bytes.drain(4 * at..4 * (at + len));
        }
        _ => {
            let size = bytes.len();
            let room = bytes.len() + 64;
            bytes.resize(room, 0);
            let size = change(bytes, size, room);
            bytes.truncate(size);
        }
    }
}

/// Returns the sections of a file whose table lies inside the file.
fn sections(file: &[u8]) -> Option<Vec<Section>> {
    let count = u32::from_le_bytes(file.get(24..HEADER)?.try_into().ok()?) as usize;
    let row = |at: usize| {
        let row = file.get(HEADER + at * ROW..HEADER + (at + 1) * ROW)?;
        let number = |at: usize| Some(u64::from_le_bytes(row.get(at..at + 8)?.try_into().ok()?));
        let start = number(8)? as usize;
        let length = number(16)? as usize;
        let bytes = file.get(start..start.checked_add(length)?)?.to_vec();
        Some(Section { head: row[..8].try_into().ok()?, bytes })
    };
    if count == 0 || count > 16 {
        return None;
    }
    (0..count).map(row).collect()
}

/// Returns the file of the sections, with correct places, lengths and checksums.
fn assemble(header: &[u8], sections: &[Section]) -> Vec<u8> {
    let mut offset = HEADER + sections.len() * ROW + 4;
    let total = offset + sections.iter().map(|section| section.bytes.len()).sum::<usize>();
    let mut file = header.to_vec();
    file[16..24].copy_from_slice(&(total as u64).to_le_bytes());
    for section in sections {
        file.extend(section.head);
        file.extend((offset as u64).to_le_bytes());
        file.extend((section.bytes.len() as u64).to_le_bytes());
        file.extend(crc32c::crc32c(&section.bytes).to_le_bytes());
        offset += section.bytes.len();
    }
    let sum = crc32c::crc32c(&file);
    file.extend(sum.to_le_bytes());
    sections.iter().for_each(|section| file.extend(&section.bytes));
    file
}
