//! Reading the arena.

/// An arena: the agent's own mapping, another process's file, or bytes in a test. Reads may race with writers, so
/// no value is trusted.
pub trait Memory {
    /// Bytes that may be read.
    fn len(&self) -> u64;
    /// Nothing may be read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The u32 at a byte offset; none beyond the end.
    fn u32(&self, at: u64) -> Option<u32> {
        let mut word = [0; 4];
        self.bytes(at, &mut word)?;
        Some(u32::from_le_bytes(word))
    }
    /// The u64 at a byte offset; none beyond the end.
    fn u64(&self, at: u64) -> Option<u64> {
        let mut word = [0; 8];
        self.bytes(at, &mut word)?;
        Some(u64::from_le_bytes(word))
    }
    /// Copies bytes; none when they reach beyond the end.
    fn bytes(&self, at: u64, out: &mut [u8]) -> Option<()>;
}

impl Memory for &[u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn bytes(&self, at: u64, out: &mut [u8]) -> Option<()> {
        let at = usize::try_from(at).ok()?;
        out.copy_from_slice(self.get(at..at.checked_add(out.len())?)?);
        Some(())
    }
}

/// Sequential reads through a buffer: one virtual call per 256 KB instead of one per word.
pub struct Window<'a> {
    memory: &'a dyn Memory,
    buffer: Vec<u8>,
    base: u64,
}

impl<'a> Window<'a> {
    const SIZE: u64 = 256 * 1024;

    /// Nothing is read yet.
    pub fn new(memory: &'a dyn Memory) -> Window<'a> {
        Window { memory, buffer: Vec::new(), base: 0 }
    }

    /// Some bytes, at most 256 KB.
    pub fn bytes(&mut self, at: u64, len: u64) -> Option<&[u8]> {
        let end = self.base + self.buffer.len() as u64;
        if at < self.base || at.checked_add(len)? > end {
            let size = self.memory.len().checked_sub(at)?.min(Self::SIZE);
            if size < len {
                return None;
            }
            self.buffer.resize(size as usize, 0);
            self.base = at;
            if self.memory.bytes(at, &mut self.buffer).is_none() {
                self.buffer.clear();
                return None;
            }
        }
        let start = (at - self.base) as usize;
        self.buffer.get(start..start + len as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_beyond_the_end_answer_none() {
        let bytes: &[u8] = &[1, 0, 0, 0, 2, 0, 0, 0, 3];
        assert_eq!((bytes.u32(4), bytes.u32(6), bytes.u64(0), bytes.u64(2)), (Some(2), None, Some(0x2_0000_0001), None));
        assert_eq!((bytes.u32(u64::MAX), bytes.len(), bytes.is_empty()), (None, 9, false));
        let mut window = Window::new(&bytes);
        assert_eq!(window.bytes(4, 4), Some(&[2, 0, 0, 0][..]));
        assert_eq!(window.bytes(6, 4), None);
        assert_eq!(window.bytes(u64::MAX, 4), None);
    }
}
