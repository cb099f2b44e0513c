//! A number per cache, and what the simulation does with eight of them at once.
//!
//! Written out for AVX2: what the compiler makes of loops over arrays takes from 1 to 3 times as long, depending on the code
//! around them.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Number of caches that one lookup goes through.
pub const LANES: usize = 8;
/// A number per cache.
pub type Lanes = [i32; LANES];

/// Eight numbers in the processor's registers, or masks: -1 in the lanes where something is so, and 0 elsewhere.
pub trait Vector: Copy {
    /// Says that the processor has the instructions.
    type Proof: Copy;

    fn new(proof: Self::Proof, lanes: &Lanes) -> Self;
    fn widen(proof: Self::Proof, lanes: &[u16; LANES]) -> Self;
    fn get(self) -> Lanes;
    fn add(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    /// A mask: where these are greater.
    fn greater(self, than: Self) -> Self;
    /// Of a mask: whether it is set anywhere.
    fn any(self) -> bool;
    /// Of a mask: `these` where it is set, and `those` elsewhere.
    fn choose(self, these: Self, those: Self) -> Self;
    /// Of a mask: counts in as many lanes as there are counters.
    fn count<const N: usize>(self, counters: &mut [u64; N]);
}

/// For any processor.
impl Vector for Lanes {
    type Proof = ();

    #[inline(always)]
    fn new((): (), lanes: &Lanes) -> Lanes {
        *lanes
    }

    #[inline(always)]
    fn widen((): (), lanes: &[u16; LANES]) -> Lanes {
        lanes.map(i32::from)
    }

    #[inline(always)]
    fn get(self) -> Lanes {
        self
    }

    #[inline(always)]
    fn add(self, other: Lanes) -> Lanes {
        std::array::from_fn(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    fn and(self, other: Lanes) -> Lanes {
        std::array::from_fn(|lane| self[lane] & other[lane])
    }

    #[inline(always)]
    fn greater(self, than: Lanes) -> Lanes {
        std::array::from_fn(|lane| -i32::from(self[lane] > than[lane]))
    }

    #[inline(always)]
    fn any(self) -> bool {
        self.iter().fold(0, |any, lane| any | lane) != 0
    }

    #[inline(always)]
    fn choose(self, these: Lanes, those: Lanes) -> Lanes {
        std::array::from_fn(|lane| self[lane] & these[lane] | !self[lane] & those[lane])
    }

    #[inline(always)]
    fn count<const N: usize>(self, counters: &mut [u64; N]) {
        for (counter, mask) in counters.iter_mut().zip(self) {
            *counter = counter.wrapping_sub(i64::from(mask) as u64);
        }
    }
}

/// For processors with AVX2. There is no value of this type elsewhere, as a [`HasAvx2`] is needed to make one.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub struct Avx2(__m256i);

/// This processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub struct HasAvx2(());

#[cfg(target_arch = "x86_64")]
impl HasAvx2 {
    /// Asks the processor.
    pub fn detect() -> Option<HasAvx2> {
        std::arch::is_x86_feature_detected!("avx2").then_some(HasAvx2(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl Vector for Avx2 {
    type Proof = HasAvx2;

    #[inline(always)]
    fn new(_: HasAvx2, lanes: &Lanes) -> Avx2 {
        // SAFETY: the processor has AVX2; so many lanes are read.
        Avx2(unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) })
    }

    #[inline(always)]
    fn widen(_: HasAvx2, lanes: &[u16; LANES]) -> Avx2 {
        // SAFETY: the processor has AVX2; so many lanes are read.
        Avx2(unsafe { _mm256_cvtepu16_epi32(_mm_loadu_si128(lanes.as_ptr().cast())) })
    }

    #[inline(always)]
    fn get(self) -> Lanes {
        let mut lanes = [0; LANES];
        // SAFETY: there is an `Avx2`, so the processor has it; so many lanes are written.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), self.0) };
        lanes
    }

    #[inline(always)]
    fn add(self, other: Avx2) -> Avx2 {
        // SAFETY: there is an `Avx2`.
        Avx2(unsafe { _mm256_add_epi32(self.0, other.0) })
    }

    #[inline(always)]
    fn and(self, other: Avx2) -> Avx2 {
        // SAFETY: there is an `Avx2`.
        Avx2(unsafe { _mm256_and_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn greater(self, than: Avx2) -> Avx2 {
        // SAFETY: there is an `Avx2`.
        Avx2(unsafe { _mm256_cmpgt_epi32(self.0, than.0) })
    }

    #[inline(always)]
    fn any(self) -> bool {
        // SAFETY: there is an `Avx2`.
        unsafe { _mm256_testz_si256(self.0, self.0) == 0 }
    }

    #[inline(always)]
    fn choose(self, these: Avx2, those: Avx2) -> Avx2 {
        // SAFETY: there is an `Avx2`.
        Avx2(unsafe { _mm256_blendv_epi8(those.0, these.0, self.0) })
    }

    #[inline(always)]
    fn count<const N: usize>(self, counters: &mut [u64; N]) {
        const { assert!(N == 4 || N == LANES) };
        let counters = counters.as_mut_ptr().cast::<__m256i>();
        // SAFETY: there is an `Avx2`; four or eight counters are read and written, as many as there are.
        unsafe {
            let low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(self.0));
            _mm256_storeu_si256(counters, _mm256_sub_epi64(_mm256_loadu_si256(counters), low));
            if N == LANES {
                let counters = counters.add(1);
                let high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(self.0));
                _mm256_storeu_si256(counters, _mm256_sub_epi64(_mm256_loadu_si256(counters), high));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that a vector can do, put together.
    fn all<V: Vector>(proof: V::Proof) -> Vec<i64> {
        let (a, b) = (V::new(proof, &[0, 1, -2, 3, i32::MIN, i32::MAX, 6, 7]), V::new(proof, &[1, 1, -3, 2, 0, i32::MAX, 7, -1]));
        let mask = a.greater(b);
        let wide = V::widen(proof, &[0, 1, 2, 0x7FFF, 0x8000, 0xFFFF, 6, 7]);
        let (mut four, mut eight) = ([5, u64::MAX, 7, 8], [0; LANES]);
        mask.count(&mut four);
        mask.count(&mut eight);
        let lanes = [mask, mask.choose(a, b), wide.and(mask), wide.add(mask)].into_iter().flat_map(V::get).map(i64::from);
        let any = [mask.any(), V::new(proof, &[0; LANES]).any()].map(i64::from);
        lanes.chain(any).chain(four.into_iter().chain(eight).map(|n| n as i64)).collect()
    }

    #[test]
    fn vectors_agree() {
        let plain = all::<Lanes>(());
        assert_eq!(plain[..16], [0, 0, -1, -1, 0, 0, 0, -1, 1, 1, -2, 3, 0, i64::from(i32::MAX), 7, 7]);
        #[cfg(target_arch = "x86_64")]
        if let Some(proof) = HasAvx2::detect() {
            assert_eq!(all::<Avx2>(proof), plain);
        }
    }
}
