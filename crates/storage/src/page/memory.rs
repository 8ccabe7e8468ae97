//! The memory behind the cache: one region of frames, and large arrays of zeroed atomics. All `unsafe` about raw
//! memory is here; who may touch a frame when is argued in `cache`.

use std::alloc::Layout;
use std::ops::Range;

use crate::sync::{AtomicU32, AtomicU64};

/// Frames start on this boundary, so that direct I/O can use them and low address bits are free for tags.
const ALIGNMENT: usize = 4096;

/// Bytes that the processor loads together.
pub(crate) const CACHE_LINE: usize = 64;

/// `count` frames of `page_size` bytes, side by side. The operating system provides the memory when it is first used.
#[derive(Debug)]
pub(super) struct Frames {
    base: *mut u8,
    layout: Layout,
    page_size: usize,
    /// The page size is two to this power.
    shift: u32,
    count: u32,
}

// SAFETY: `Frames` is an address range; access to its bytes goes through unsafe methods whose callers exclude races.
unsafe impl Send for Frames {}
// SAFETY: as above.
unsafe impl Sync for Frames {}

impl Frames {
    /// `None`: the address space has no room for them.
    pub(super) fn new(page_size: usize, count: u32) -> Option<Frames> {
        let layout = Layout::from_size_align(page_size.checked_mul(count as usize)?, ALIGNMENT).ok()?;
        let base = reserve(layout)?;
        advise_huge_pages(base, layout.size());
        assert!(page_size.is_power_of_two());
        Some(Frames { base, layout, page_size, shift: page_size.trailing_zeros(), count })
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn address(&self, frame: u32) -> u64 {
        debug_assert!(frame < self.count);
        self.base as u64 + ((frame as u64) << self.shift)
    }

    pub(super) fn frame_of(&self, address: u64) -> u32 {
        ((address - self.base as u64) >> self.shift) as u32
    }

    /// Asks the operating system for the memory of some frames before they are used: the first touch of fresh memory
    /// costs more than anything else that is done with a page. Changes no contents; harmless where refused.
    pub(super) fn populate(&self, from: u32, to: u32) {
        let unit = ALIGNMENT;
        let start = (from as usize * self.page_size).next_multiple_of(unit);
        let end = (to.min(self.count) as usize * self.page_size) / unit * unit;
        if start < end {
            // SAFETY: inside the region, which lives as long as this.
            populate(unsafe { self.base.add(start) }, end - start);
        }
    }

    /// Gives the memory of some frames back to the system, which provides it again, as zeroes, when they are next used. Harmless where
    /// refused.
    ///
    /// # Safety
    /// The frames are the caller's: nobody else reads or writes one of them meanwhile.
    pub(super) unsafe fn release(&self, frames: Range<u32>) {
        let start = (frames.start as usize * self.page_size).next_multiple_of(ALIGNMENT);
        let end = (frames.end.min(self.count) as usize * self.page_size) / ALIGNMENT * ALIGNMENT;
        if start < end {
            // SAFETY: inside the region, which lives as long as this, and by the caller's promise.
            unsafe { release(self.base.add(start), end - start) };
        }
    }

    /// # Safety
    /// `address` is a frame's, its bytes were initialised, and nobody writes them while the slice lives.
    #[inline]
    pub(super) unsafe fn page<'a>(&self, address: u64) -> &'a [u8] {
        // SAFETY: by the caller's promise; the region lives as long as the cache, which outlives every pin.
        unsafe { std::slice::from_raw_parts(address as *const u8, self.page_size) }
    }

    /// # Safety
    /// `address` is a frame's, and nobody else reads or writes it while the slice lives.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn page_mut<'a>(&self, address: u64) -> &'a mut [u8] {
        // SAFETY: by the caller's promise; `clear_or_copy` initialised the bytes on the frame's first use.
        unsafe { std::slice::from_raw_parts_mut(address as *mut u8, self.page_size) }
    }

    /// Asks the processor to bring a frame's first `len` bytes into its cache. Any address will do: nothing is read.
    #[inline]
    pub(super) fn prefetch(&self, address: u64, len: usize) {
        for line in (0..len).step_by(CACHE_LINE) {
            prefetch_line(address as usize + line);
        }
    }

    /// Gives a frame that nobody refers to its first bytes: a copy of a page, or zeroes.
    ///
    /// # Safety
    /// As for [`Frames::page_mut`], and `copy_of` is not this frame.
    pub(super) unsafe fn clear_or_copy(&self, address: u64, copy_of: Option<&[u8]>) {
        match copy_of {
            // SAFETY: both are whole pages, and different ones, by the caller's promise.
            Some(bytes) => unsafe {
                debug_assert_eq!(bytes.len(), self.page_size);
                debug_assert_ne!(bytes.as_ptr().addr() as u64, address, "a frame is not its own copy");
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, self.page_size);
            },
            // SAFETY: inside the region, by the caller's promise.
            None => unsafe { std::ptr::write_bytes(address as *mut u8, 0, self.page_size) },
        }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // SAFETY: reserved in `new` with this layout, and nobody's any more.
        unsafe { give_back(self.base, self.layout) }
    }
}

/// A range of addresses whose memory the system provides when it is first used, and does not count before: caches are
/// large, and most databases small.
#[cfg(all(target_os = "linux", not(miri)))]
fn reserve(layout: Layout) -> Option<*mut u8> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    let how = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping, where the system likes to have it.
    let base = unsafe { mmap_anonymous(std::ptr::null_mut(), layout.size(), ProtFlags::READ | ProtFlags::WRITE, how) };
    base.ok().map(|base| base.cast())
}

/// # Safety
/// The range is one of `reserve` for the same layout, and nobody uses it again.
#[cfg(all(target_os = "linux", not(miri)))]
unsafe fn give_back(base: *mut u8, layout: Layout) {
    // SAFETY: by the caller's promise.
    let _ = unsafe { rustix::mm::munmap(base.cast(), layout.size()) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn reserve(layout: Layout) -> Option<*mut u8> {
    // SAFETY: the layout has a non-zero size: at least two frames of 512 bytes.
    let base = unsafe { std::alloc::alloc(layout) };
    (!base.is_null()).then_some(base)
}

/// # Safety
/// The range is one of `reserve` for the same layout, and nobody uses it again.
#[cfg(not(all(target_os = "linux", not(miri))))]
unsafe fn give_back(base: *mut u8, layout: Layout) {
    // SAFETY: by the caller's promise.
    unsafe { std::alloc::dealloc(base, layout) }
}

/// Asks the processor for the first bytes, as many as an entry usually has.
pub(crate) fn prefetch(bytes: &[u8]) {
    (0..bytes.len().min(128)).step_by(64).for_each(|line| prefetch_line(bytes.as_ptr() as usize + line));
}

/// Asks the processor for a value that lies in one line.
#[inline]
pub(super) fn prefetch_value<T>(value: &T) {
    prefetch_line(std::ptr::from_ref(value) as usize);
}

/// Asks the processor to bring the line at this address into its cache.
#[inline]
fn prefetch_line(address: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint, which changes nothing and fails on no address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address as *const i8);
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Fewer TLB misses on random reads; harmless where refused.
#[cfg(target_os = "linux")]
fn advise_huge_pages(base: *mut u8, len: usize) {
    if len < (2 << 20) || cfg!(miri) {
        return;
    }
    // SAFETY: advice on a range that was just allocated and is page aligned; it changes no contents.
    let _ = unsafe { rustix::mm::madvise(base.cast(), len, rustix::mm::Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages(_base: *mut u8, _len: usize) {}

#[cfg(target_os = "linux")]
fn populate(start: *mut u8, len: usize) {
    if cfg!(miri) {
        return;
    }
    // SAFETY: advice on a page-aligned range of memory that is allocated; it changes no contents.
    let _ = unsafe { rustix::mm::madvise(start.cast(), len, rustix::mm::Advice::LinuxPopulateWrite) };
}

#[cfg(not(target_os = "linux"))]
fn populate(_start: *mut u8, _len: usize) {}

/// # Safety
/// The range lies in one of `reserve`, and nobody reads or writes it meanwhile.
#[cfg(all(target_os = "linux", not(miri)))]
unsafe fn release(start: *mut u8, len: usize) {
    // SAFETY: by the caller's promise; what the range had is not looked at again.
    let _ = unsafe { rustix::mm::madvise(start.cast(), len, rustix::mm::Advice::LinuxDontNeed) };
}

/// # Safety
/// None: it does nothing.
#[cfg(not(all(target_os = "linux", not(miri))))]
unsafe fn release(_start: *mut u8, _len: usize) {}

/// An atomic whose all-zero bytes are a valid zero.
pub(super) trait ZeroAtomic: Sized {
    fn zero() -> Self;
}

impl ZeroAtomic for AtomicU64 {
    fn zero() -> Self {
        AtomicU64::new(0)
    }
}

impl ZeroAtomic for AtomicU32 {
    fn zero() -> Self {
        AtomicU32::new(0)
    }
}

/// A large array of zeroes that costs memory only where it is touched. `None`: the address space has no room for it.
#[cfg(not(any(cairn_shuttle, cairn_loom)))]
pub(super) fn zeroed<T: ZeroAtomic>(len: usize) -> Option<Box<[T]>> {
    #[cfg(test)]
    failing::count()?;
    let layout = Layout::array::<T>(len).ok()?;
    // SAFETY: the size is not zero (options demand at least 64 pages).
    let memory = unsafe { std::alloc::alloc_zeroed(layout) };
    if memory.is_null() {
        return None;
    }
    // SAFETY: std's atomics have the layout of their integer, for which zero bytes are a valid zero; the allocation is
    // this layout's, as `Box` expects.
    Some(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(memory.cast::<T>(), len)) })
}

#[cfg(any(cairn_shuttle, cairn_loom))]
pub(super) fn zeroed<T: ZeroAtomic>(len: usize) -> Option<Box<[T]>> {
    Some((0..len).map(|_| T::zero()).collect())
}

/// As `zeroed`, of what lies in lines of its own. (What aligns more than the allocator does by itself is written over with zeroes
/// there, and so has its memory at once.) All of it is the system's memory where that can be had so.
pub(super) struct Lines<T> {
    first: *mut T,
    len: usize,
    layout: Layout,
}

// SAFETY: it is a slice that it owns.
unsafe impl<T: Send> Send for Lines<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Lines<T> {}

impl<T: ZeroAtomic> Lines<T> {
    /// `None`: the address space has no room for it.
    pub(super) fn zeroed(len: usize) -> Option<Lines<T>> {
        assert!(len > 0 && align_of::<T>() <= ALIGNMENT);
        let layout = Layout::from_size_align(Layout::array::<T>(len).ok()?.size(), ALIGNMENT).ok()?;
        let first: *mut T = reserve(layout)?.cast();
        if cfg!(not(all(target_os = "linux", not(miri), not(cairn_shuttle), not(cairn_loom)))) {
            // SAFETY: inside what was just allocated, and aligned.
            (0..len).for_each(|at| unsafe { first.add(at).write(T::zero()) });
        }
        Some(Lines { first, len, layout })
    }
}

impl<T> std::ops::Deref for Lines<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: so many values, which zero bytes are of atomics, or which were written.
        unsafe { std::slice::from_raw_parts(self.first, self.len) }
    }
}

impl<T> Drop for Lines<T> {
    fn drop(&mut self) {
        // SAFETY: initialised, and nobody's any more; allocated by `reserve` with this layout.
        unsafe {
            std::ptr::drop_in_place(std::ptr::slice_from_raw_parts_mut(self.first, self.len));
            give_back(self.first.cast(), self.layout);
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for Lines<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

/// Allocations that fail, for tests.
#[cfg(test)]
pub(super) mod failing {
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// In `work`, of this thread's arrays the first so many are made, and no other.
    pub(in crate::page) fn after(count: usize, work: impl FnOnce()) {
        LEFT.set(Some(count));
        work();
        LEFT.set(None);
    }

    pub(super) fn count() -> Option<()> {
        let Some(left) = LEFT.get() else { return Some(()) };
        LEFT.set(Some(left.checked_sub(1)?));
        Some(())
    }
}
