//! The stacks of threads.

use super::{Error, Jvmti, MethodId, RawEnv, jthread};
use crate::faults;
use crate::jni::Jni;
use jni_sys::{jint, jlong};
use std::ptr::null_mut;

/// One frame of a stack.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct FrameInfo {
    /// The method.
    pub method: MethodId,
    /// Bytecode index in the method as it is now; -1 in a native method.
    pub location: jlong,
}

const NOTHING: FrameInfo = FrameInfo { method: null_mut(), location: -1 };

/// What is answered for one of several threads.
#[repr(C)]
struct StackInfo {
    thread: jthread,
    state: jint,
    frames: *mut FrameInfo,
    count: jint,
}

/// So many threads are asked for at a time, and so many frames of each: HotSpot sets room for them aside.
const THREADS: usize = 256;
const FRAMES: jint = 128;

impl Jvmti {
    /// The frames of threads, innermost first, each as [`Jvmti::stack`] has them. Deep stacks are only held one at a time.
    pub fn stacks(self, jni: Jni, threads: &[jthread]) -> impl Iterator<Item = Result<Vec<FrameInfo>, Error>> {
        threads.iter().zip(self.short_stacks(jni, threads)).map(move |(&thread, short)| match short {
            Some(frames) => Ok(frames),
            None => self.stack(thread),
        })
    }

    /// As [`Jvmti::stacks`], but for threads of which [`Jvmti::stack`] has to be asked. To ask for one thread makes HotSpot of JDK 21
    /// and later look at all of them, whether they are virtual threads in transition
    /// (`JvmtiVTMSTransitionDisabler::VTMS_transition_disable_for_all`): one by one, 5,000 took half a second.
    pub fn short_stacks(self, jni: Jni, threads: &[jthread]) -> impl Iterator<Item = Option<Vec<FrameInfo>>> {
        threads.chunks(THREADS).flat_map(move |threads| {
            // Made of references of its own.
            let mut several = jni.in_frame(|| self.first_frames(threads)).unwrap_or_default();
            several.resize(threads.len(), Vec::new());
            several.into_iter().map(|frames| Some(frames).filter(|frames| (1..FRAMES as usize).contains(&frames.len())))
        })
    }

    /// The innermost frames of some threads. One that has ended has none.
    fn first_frames(self, threads: &[jthread]) -> Result<Vec<Vec<FrameInfo>>, Error> {
        let count = threads.len() as jint;
        let mut infos: *mut StackInfo = null_mut();
        call!(
            self,
            101,
            "GetThreadListStackTraces",
            (jint, *const jthread, jint, *mut *mut StackInfo),
            count,
            threads.as_ptr(),
            FRAMES,
            &mut infos
        )?;
        if infos.is_null() {
            return Ok(Vec::new());
        }
        let frames_of = |info: &StackInfo| match usize::try_from(info.count) {
            // SAFETY: the VM answered so many frames there, in the memory that the infos are in.
            Ok(count @ 1..) => unsafe { std::slice::from_raw_parts(info.frames, count) }.to_vec(),
            _ => Vec::new(),
        };
        // SAFETY: the VM answered one for each thread; deallocated only after the copy.
        let frames = unsafe { std::slice::from_raw_parts(infos, threads.len()) }.iter().map(frames_of).collect();
        self.deallocate(infos);
        Ok(frames)
    }

    /// The frames of a thread, innermost first. A thread that has ended is an error.
    pub fn stack(self, thread: jthread) -> Result<Vec<FrameInfo>, Error> {
        let mut frames = vec![NOTHING; 512];
        loop {
            let mut count: jint = 0;
            let capacity = frames.len() as jint;
            call!(
                self,
                104,
                "GetStackTrace",
                (jthread, jint, jint, *mut FrameInfo, *mut jint),
                thread,
                0,
                capacity,
                frames.as_mut_ptr(),
                &mut count
            )?;
            if count < capacity {
                frames.truncate(usize::try_from(count).unwrap_or(0));
                return Ok(frames);
            }
            // The VM walks through all of them again: for few threads more than twice.
            frames.resize(frames.len() * 32, NOTHING);
        }
    }
}
