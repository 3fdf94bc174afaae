//! Reads a file or standard input piece by piece.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::tree::{CHUNK, Piece};

/// Input to hash.
pub(crate) struct Input {
    pieces: Pieces<Box<dyn Read>>,
    file: Option<File>,
    length: u64,
}

impl Input {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// Fails if it is a directory, or cannot be opened.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::of(io::stdin().lock()));
        }
        let file = File::open(path)?;
        let about = file.metadata()?;
        if about.is_dir() {
            bail!(io::Error::from(ErrorKind::IsADirectory));
        }
        let reader = Box::new(file.try_clone()?);
        Ok(Self { pieces: Pieces::new(reader), file: Some(file), length: about.len() })
    }

    /// Returns the input of a reader, whose length is not known.
    pub(crate) fn of(reader: impl Read + 'static) -> Self {
        Self { pieces: Pieces::new(Box::new(reader)), file: None, length: 0 }
    }

    /// Returns the length that the file had when it was opened, if it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        Some(self.length).filter(|length| *length > 0)
    }

    /// Reads the next piece into `buffer`. Only the last piece may leave a part of it unused.
    ///
    /// # Errors
    /// Fails if reading fails, or if the file became shorter since it was opened. The bytes read so far then belong to
    /// no single state of the file.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<Piece> {
        let from = self.pieces.position();
        let piece = self.pieces.read(buffer).with_context(|| format!("after {from} bytes"))?;
        if piece.last {
            self.check_length()?;
        }
        Ok(piece)
    }

    fn check_length(&self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let now = file.metadata()?.len();
        if now < self.length {
            bail!("the file shrank from {} to {now} bytes while it was read", self.length);
        }
        Ok(())
    }
}

// A stream divided into pieces. Detects the last piece.
struct Pieces<R> {
    reader: R,
    ahead: Option<u8>,
    next_chunk: u64,
}

impl<R: Read> Pieces<R> {
    fn new(reader: R) -> Self {
        Self { reader, ahead: None, next_chunk: 0 }
    }

    fn position(&self) -> u64 {
        self.next_chunk * CHUNK as u64
    }

    // Reads a piece. A full piece may be the last, so one byte of the next piece is read ahead.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Piece> {
        let mut bytes = 0;
        if let Some(byte) = self.ahead.take() {
            buffer[0] = byte;
            bytes = 1;
        }
        bytes += read_all(&mut self.reader, &mut buffer[bytes..])?;
        let mut next = [0];
        if bytes == buffer.len() && read_all(&mut self.reader, &mut next)? == 1 {
            self.ahead = Some(next[0]);
        }
        let piece = Piece { bytes, first_chunk: self.next_chunk, last: self.ahead.is_none() };
        self.next_chunk += (buffer.len() / CHUNK) as u64;
        Ok(piece)
    }
}

// Reads until `buffer` is full or the input ends.
fn read_all(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match reader.read(&mut buffer[done..]) {
            Ok(0) => break,
            Ok(bytes) => done += bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    // A reader that returns a few bytes at a time with interruptions in between, as pipes do.
    struct Trickle<'a>(&'a [u8], bool);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(ErrorKind::Interrupted.into());
            }
            let bytes = buffer.len().min(700).min(self.0.len());
            buffer[..bytes].copy_from_slice(&self.0[..bytes]);
            self.0 = &self.0[bytes..];
            Ok(bytes)
        }
    }

    #[test]
    fn pieces_are_the_input_and_only_the_last_is_marked_as_last() {
        let all: Vec<u8> = (0..10_000).map(|i| (i % 251) as u8).collect();
        for length in [0, 1, 2047, 2048, 2049, 4095, 4096, 4097, 10_000] {
            let mut pieces = Pieces::new(Trickle(&all[..length], false));
            let mut read = Vec::new();
            let mut count = 0;
            loop {
                let mut buffer = [0; 2 * CHUNK];
                let piece = pieces.read(&mut buffer).unwrap();
                assert_eq!(piece.first_chunk, count * 2);
                read.extend_from_slice(&buffer[..piece.bytes]);
                count += 1;
                if piece.last {
                    break;
                }
                assert_eq!(piece.bytes, buffer.len());
            }
            assert_eq!(read, all[..length]);
            assert_eq!(count as usize, length.div_ceil(2 * CHUNK).max(1), "{length} bytes");
        }
    }

    #[test]
    fn a_file_that_shrinks_is_an_error_with_both_lengths() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[7; 5000]).unwrap();
        let mut input = Input::open(file.path()).unwrap();
        let mut buffer = [0; 2 * CHUNK];
        assert!(!input.read(&mut buffer).unwrap().last);
        file.as_file().set_len(3000).unwrap();
        let error = input.read(&mut buffer).unwrap_err().to_string();
        assert_eq!(error, "the file shrank from 5000 to 3000 bytes while it was read");
    }

    #[test]
    fn a_file_that_grows_is_read_to_its_new_end() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[7; 2 * CHUNK + 1]).unwrap();
        let mut input = Input::open(file.path()).unwrap();
        let mut buffer = [0; 2 * CHUNK];
        assert!(!input.read(&mut buffer).unwrap().last);
        file.write_all(&[8; 10]).unwrap();
        assert_eq!(input.read(&mut buffer).unwrap().bytes, 11);
    }

    #[test]
    fn a_missing_file_and_a_directory_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Input::open(&folder.path().join("none")).is_err());
        assert!(Input::open(folder.path()).is_err());
    }

    #[test]
    fn a_failing_reader_reports_the_bytes_read_before() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let error = Input::of(Broken).read(&mut [0; CHUNK]).unwrap_err();
        assert_eq!(format!("{error:#}"), "after 0 bytes: the disk is gone");
    }
}
