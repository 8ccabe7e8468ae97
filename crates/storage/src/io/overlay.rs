//! A file that is only read, with what is written to it kept in memory: for looking at a database that was not closed,
//! which has to be recovered first, without changing it.
//!
//! What is kept takes a bounded number of pages: a write beyond that fails, and says what to do.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::face::{File, SyncMethod};

const FULL: &str = "what the log holds takes more memory than four times cache_bytes: raise that, or open the database once \
    for writing, which recovers it in its file";

/// See the module's text. Writes are of whole pages.
#[derive(Debug)]
pub(crate) struct Overlay {
    file: Arc<dyn File>,
    page_size: usize,
    /// The most pages that are kept.
    most: usize,
    written: Mutex<HashMap<u64, Box<[u8]>>>,
}

impl Overlay {
    pub(crate) fn over(file: Arc<dyn File>, page_size: usize, most: usize) -> Overlay {
        Overlay { file, page_size, most, written: Mutex::default() }
    }

    fn written(&self) -> MutexGuard<'_, HashMap<u64, Box<[u8]>>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl File for Overlay {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let size = self.page_size as u64;
        let (mut rest, mut at) = (buf, offset);
        while !rest.is_empty() {
            let within = (at % size) as usize;
            let length = (self.page_size - within).min(rest.len());
            let (piece, behind) = std::mem::take(&mut rest).split_at_mut(length);
            // Others read meanwhile: the lock is not held while the file is read.
            let page = self.written().get(&(at / size)).map(|page| piece.copy_from_slice(&page[within..][..length]));
            if page.is_none() {
                self.file.read_at(piece, at)?;
            }
            at += piece.len() as u64;
            rest = behind;
        }
        Ok(())
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let size = self.page_size as u64;
        if !offset.is_multiple_of(size) || !buf.len().is_multiple_of(self.page_size) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut written = self.written();
        for (page, id) in buf.chunks_exact(self.page_size).zip(offset / size..) {
            if written.len() >= self.most && !written.contains_key(&id) {
                return Err(io::Error::new(io::ErrorKind::OutOfMemory, FULL));
            }
            written.insert(id, page.into());
        }
        Ok(())
    }

    fn write_durable_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.write_at(buf, offset)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let behind = self.written().keys().max().map_or(0, |id| (id + 1) * self.page_size as u64);
        Ok(self.file.len()?.max(behind))
    }

    fn has_name(&self, path: &Path) -> io::Result<bool> {
        self.file.has_name(path)
    }

    fn set_len(&self, _len: u64) -> io::Result<()> {
        Ok(())
    }

    fn alignment(&self) -> usize {
        self.file.alignment()
    }

    fn sync_method(&self) -> SyncMethod {
        SyncMethod::MemoryFile
    }

    fn choose_sync_method(&self, _: SyncMethod, _: &[u8], _: u64) -> io::Result<SyncMethod> {
        Ok(SyncMethod::MemoryFile)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Create, FileSystem, MemFs, OpenHow};
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_the_file_stays_as_it_was() {
        let how = OpenHow { create: Create::New, read_only: false, direct: false };
        let file = MemFs::new().open(Path::new("file"), how).unwrap();
        file.write_at(&[1; 1536], 0).unwrap();
        let overlay = Overlay::over(file.clone(), 512, 2);
        overlay.write_at(&[2; 512], 512).unwrap();
        overlay.write_at(&[3; 512], 1536).unwrap();
        assert_eq!(overlay.len().unwrap(), 2048);
        let refused = overlay.write_at(&[4; 1024], 0).unwrap_err();
        assert!(refused.to_string().contains("cache_bytes"), "{refused}");
        overlay.write_at(&[2; 512], 512).unwrap();
        let mut read = [0; 1000];
        overlay.read_at(&mut read, 400).unwrap();
        assert_eq!((&read[..112], &read[112..624], &read[624..]), (&[1; 112][..], &[2; 512][..], &[1; 376][..]));
        assert!(overlay.read_at(&mut [0; 513], 1536).is_err(), "behind the end");
        let mut below = [0; 1536];
        file.read_at(&mut below, 0).unwrap();
        assert_eq!(below, [1; 1536]);
    }
}
