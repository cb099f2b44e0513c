//! The VM flags that make what is counted independent of the compilers.
//!
//! HotSpot exports a description of its own data for debuggers (`gHotSpotVMStructs`, vmStructs.cpp); the table of flags is in it.
//! In `Agent_OnLoad` the flags are parsed but not yet used, so that setting them there is like setting them on the command line.

use crate::intrinsics;
use crate::vm::Vm;
use crate::vm_structs::{Library, Structs};
use std::ffi::{CStr, CString, c_char, c_int};
use std::ops::RangeInclusive;

/// Flags, by name and value, each with the reason.
const SWITCHES: &[(&str, bool)] = &[
    // C2 replaces chains of StringBuilder calls by one allocation and fill.
    ("OptimizeStringConcat", false),
    // C2 treats valueOf and xxxValue of box classes as pure and removes pairs of them, with the counting in them.
    ("EliminateAutoBox", false),
    ("AggressiveUnboxing", false),
    // C2 throws preallocated exceptions without running their constructors, once a place has thrown often.
    ("OmitStackTraceInFastThrow", false),
    // Methods over 8000 bytes would never be compiled, and woven methods are longer.
    ("DontCompileHugeMethods", false),
];

/// Optimisations that woven code makes a compiler repeat without measure, and the feature releases it happens on. C2 of JDK 21
/// clones a woven loop with several invariant conditions (a pattern switch whose guards fail) for one after the other, in every
/// clone anew: 20 s for a method of 290 bytes that C2 of JDK 25 compiles at once.
const ENDLESS: &[(&str, RangeInclusive<u32>)] = &[("LoopUnswitching", 21..=24)];

/// C2 of JDK 25 keeps what woven loops have no register for in vector registers, and moves it there and back in every turn. On
/// the stack it costs nothing where the processor renames the stack's memory: the kernels took 1.86 times as long instead of 1.95
/// (an interpreter's loop 1.17 instead of 1.43), and with one method cache 2.49 instead of 2.66. On JDK 17 it makes no
/// difference. The feature release is the first for which it is cleared.
const SPILLING: (&str, u32) = ("UseFPUForSpilling", 25);

/// Kilobytes of stack for threads that name no size. Read when the JVM starts, before agents are loaded
/// (os_posix.cpp, `set_minimum_stack_sizes`).
const STACK_SIZE: &str = "ThreadStackSize";

/// C2 takes twice as long for a woven method, and spends it on methods that hardly ran: they have to be called more often now.
/// javac of 249 files took, on JDK 25 and relative to javac alone, 2.78 times the CPU with a factor of three, 2.57 with six and
/// 2.49 with twelve (medians of three interleaved rounds). What is called for long is compiled all the same, but with twelve
/// later than many programs last.
const COMPILE_LESS: &[(&str, isize, isize)] =
    &[("Tier4InvocationThreshold", 6, 1), ("Tier4MinInvocationThreshold", 6, 1), ("Tier4CompileThreshold", 6, 1)];

/// For the same reason C2 inlines large code no more: 7 per cent. (2/5 saved javac another 3 and cost a ray tracer 14.) Not where
/// method caches are simulated: small methods are large then, and what is not inlined cannot keep its objects off the heap (the
/// ray tracer took a tenth longer).
const INLINE_LESS: (&str, isize, isize) = ("InlineSmallCode", 3, 5);

/// Flags whose value, if there is one or it is this, has the VM write its classes to an archive at its end. Dumping what an agent
/// was passed, or what was retransformed, HotSpot 17 and 25 abort in functions that differ (`ConstMethod::metaspace_pointers_do`,
/// `ArchiveBuilder::record_regenerated_object`), after retransformation to the same bytes, too.
const ARCHIVING: &[(&str, Option<&str>)] =
    &[("ArchiveClassesAtExit", None), ("AOTCacheOutput", None), ("AOTMode", Some("record"))];

/// The same by `jcmd VM.cds dynamic_dump`; a flag of type bool. JDK 25 aborts in `GrowableBitMap::truncate`, JDK 17, after a
/// detach, in `adjust_lambda_proxy_class_dictionary`.
const ARCHIVING_ON_REQUEST: &str = "RecordDynamicDumpInfo";

/// Another compiler in the place of C2 (JVMCI), as in GraalVM; a flag of type bool. What it replaces by code of its own, and which
/// pairs of boxes it removes, these flags do not tell it.
const OTHER_COMPILER: &str = "UseJVMCICompiler";

/// Whether there are compilers; a flag of type bool.
const COMPILERS: &str = "UseCompiler";
/// Which of them at most; at level 0 none.
const HIGHEST_LEVEL: &str = "TieredStopAtLevel";
/// How much later than by itself the JVM compiles; and how much later is late.
const SCALING: &str = "CompileThresholdScaling";
const LATE: f64 = 10.0;

/// `vmIntrinsics` names are added to this flag (a `ccstrlist`).
const DISABLED: &str = "DisableIntrinsic";

/// `JVMFlag::_flags`: the low bits say where the value is from; 1 is the command line (JVMFlag::Flags, 17 to 25).
const ORIGIN_MASK: c_int = 15;
const COMMAND_LINE: c_int = 1;

const NO_FLAGS: &str =
    "this JVM does not describe its flags (gHotSpotVMStructs); it is no HotSpot. Use OpenJDK 17, 21 or 25 with HotSpot";

/// Flags of a running JVM that were switched, as they were before.
pub struct Switched(Vec<(*mut u8, u8)>);

// SAFETY: addresses of the VM's global variables, written by one thread at a time.
unsafe impl Send for Switched {}
// SAFETY: as above.
unsafe impl Sync for Switched {}

impl Switched {
    /// Switches them back.
    pub fn restore(&self) {
        for &(at, before) in &self.0 {
            // SAFETY: as in `switch`.
            unsafe { at.write_volatile(before) };
        }
    }
}

/// The VM's table of flags.
pub struct Flags {
    flags: *mut u8,
    count: usize,
    stride: usize,
    name: usize,
    address: usize,
    origin: usize,
}

impl Flags {
    /// Those of this VM.
    ///
    /// # Errors
    /// It does not describe them.
    pub fn of(vm: Vm) -> Result<Flags, String> {
        Flags::find(vm).ok_or_else(|| NO_FLAGS.to_owned())
    }

    /// Sets every flag that exact counting needs on a JVM of this feature release, and those that make it cheaper, with method caches
    /// or without. Answers which could not be set, and why that matters.
    pub fn set(&self, feature: u32, caches: bool) -> Vec<String> {
        let mut missing = Vec::new();
        for &(name, value) in SWITCHES {
            if !self.set_bool(name, value) {
                missing.push(format!("flag {name} is not in this JVM: its compilers may drop calls"));
            }
        }
        for (name, releases) in ENDLESS {
            if releases.contains(&feature) && !self.set_bool(name, false) {
                missing.push(format!("flag {name} is not in this JVM: its compilers may take long"));
            }
        }
        if feature >= SPILLING.1 {
            self.clear_if_default(SPILLING.0);
        }
        let inlining = (!caches).then_some(&INLINE_LESS);
        for &(name, by, over) in COMPILE_LESS.iter().chain(inlining) {
            self.scale_if_default(name, by, over);
        }
        let names = intrinsics::WITH_BODY.replace(' ', ",");
        if !self.add_to_list(DISABLED, &names) {
            missing.push(format!("flag {DISABLED} is not in this JVM: intrinsic methods are not counted in compiled code"));
        }
        missing
    }

    /// An error: this JVM will not survive writing its archive of classes if they are woven.
    pub fn refuse_archiving(&self) -> Result<(), String> {
        for &(name, only) in ARCHIVING {
            if let Some(value) = self.text(name)
                && only.is_none_or(|only| only == value)
            {
                return Err(format!(
                    "this JVM writes an archive of its classes at its end (-XX:{name}={value}), and would crash then; profile a run without that option"
                ));
            }
        }
        if self.is_set(ARCHIVING_ON_REQUEST) {
            return Err(format!(
                "this JVM is to write an archive of its classes on request (-XX:+{ARCHIVING_ON_REQUEST}), and would crash then; profile a run without that option"
            ));
        }
        Ok(())
    }

    /// What is to be said of a JVM that compiles with another compiler than its own.
    pub fn other_compiler(&self) -> Option<String> {
        let warning = || {
            format!(
                "this JVM compiles with another compiler than HotSpot's own ({OTHER_COMPILER}, as GraalVM does): calls that it replaces by code of its own are \
                 not counted. Start it with -XX:-{OTHER_COMPILER} to count them"
            )
        };
        self.is_set(OTHER_COMPILER).then(warning)
    }

    /// Whether the JVM compiles nothing (`-Xint`, `-XX:TieredStopAtLevel=0`), or not what woven code calls, or late.
    pub fn interprets(&self) -> bool {
        // SAFETY: they are of the types intx, of pointer size, and double (compiler_globals.hpp).
        let (level, scaling) = unsafe {
            (
                self.find_flag(HIGHEST_LEVEL).map(|(at, _)| *at.cast::<isize>()),
                self.find_flag(SCALING).map(|(at, _)| *at.cast::<f64>()),
            )
        };
        let (commands, file) = self.commands();
        let chooses = |commands: String| ["only", "exclude"].iter().any(|word| commands.to_lowercase().contains(word));
        !self.is_set(COMPILERS)
            || level == Some(0)
            || scaling.is_some_and(|scaling| scaling > LATE)
            || self.text("CompileOnly").is_some_and(|methods| !methods.is_empty())
            || commands.is_some_and(chooses)
            || file.is_some()
    }

    /// Commands to the compilers (`CompileCommand`, a line each), and the path of a file of more.
    pub fn commands(&self) -> (Option<String>, Option<String>) {
        (self.text("CompileCommand"), self.text("CompileCommandFile"))
    }

    /// Sets [`SWITCHES`] and [`ENDLESS`] in a running JVM. The compilers read each of them anew for every compilation; DisableIntrinsic
    /// is read at start only.
    pub fn switch(&self, feature: u32) -> Switched {
        let mut switched = Vec::new();
        let endless = ENDLESS.iter().filter(|(_, releases)| releases.contains(&feature)).map(|&(name, _)| (name, false));
        for (name, value) in SWITCHES.iter().copied().chain(endless) {
            if let Some((at, _)) = self.find_flag(name) {
                // SAFETY: SWITCHES and ENDLESS name flags of type bool only, one byte each (globals.hpp); a compiler that reads it
                // meanwhile gets the one value or the other.
                unsafe {
                    switched.push((at, at.read_volatile()));
                    at.write_volatile(value.into());
                }
            }
        }
        Switched(switched)
    }

    /// The bytes of stack that this JVM gives to threads that name none; `None`: as many as the system gives, or, where it is to be the
    /// JVM's choice and no user's, a user's.
    pub fn stack_size(&self, chosen_by_jvm: bool) -> Option<i64> {
        let (value, _) = if chosen_by_jvm { self.find_default(STACK_SIZE) } else { self.find_flag(STACK_SIZE) }?;
        // SAFETY: the flag is of type intx, of pointer size (globals.hpp).
        let kilobytes = unsafe { *value.cast::<isize>() };
        (kilobytes > 0).then(|| (kilobytes as i64).saturating_mul(1024))
    }

    /// The bytes that the heap may have; 0: the VM does not say.
    pub fn heap(&self) -> u64 {
        // SAFETY: the flag is of type size_t (gc_globals.hpp).
        self.find_flag("MaxHeapSize").map_or(0, |(value, _)| unsafe { *value.cast::<usize>() } as u64)
    }

    fn find(vm: Vm) -> Option<Flags> {
        let library = Library::of(vm)?;
        let structs = Structs::open(&library)?;
        // SAFETY: these static fields of JVMFlag are a JVMFlag* and a size_t; their addresses are the VM's own description.
        let (flags, count) = unsafe {
            (
                *structs.field("JVMFlag", "flags")?.address.cast::<*mut u8>(),
                *structs.field("JVMFlag", "numFlags")?.address.cast::<usize>(),
            )
        };
        Some(Flags {
            flags,
            count,
            stride: library.type_size("JVMFlag")?,
            name: structs.field("JVMFlag", "_name")?.offset,
            address: structs.field("JVMFlag", "_addr")?.offset,
            origin: structs.field("JVMFlag", "_flags")?.offset,
        })
    }

    /// The address of a flag's value, for who sets it: it is marked as set on the command line.
    fn claim(&self, wanted: &str) -> Option<*mut u8> {
        let (value, origin) = self.find_flag(wanted)?;
        // SAFETY: as in find_flag.
        unsafe { *origin = *origin & !ORIGIN_MASK | COMMAND_LINE };
        Some(value)
    }

    /// The addresses of a flag's value and of where it is from.
    fn find_flag(&self, wanted: &str) -> Option<(*mut u8, *mut c_int)> {
        for i in 0..self.count {
            // SAFETY: the VM's table has `count` entries of `stride` bytes, with these fields at these offsets; the last entry
            // has no name. Names, addresses and origins change in no running VM but through its own commands (`jcmd
            // VM.set_flag`), one word at a time.
            unsafe {
                let flag = self.flags.add(i * self.stride);
                let name = *flag.add(self.name).cast::<*const c_char>();
                if !name.is_null() && CStr::from_ptr(name).to_bytes() == wanted.as_bytes() {
                    let origin = flag.add(self.origin).cast::<c_int>();
                    return Some((*flag.add(self.address).cast::<*mut u8>(), origin));
                }
            }
        }
        None
    }

    /// [`Self::find_flag`], unless the user has set the flag.
    fn find_default(&self, wanted: &str) -> Option<(*mut u8, *mut c_int)> {
        // SAFETY: as in find_flag.
        self.find_flag(wanted).filter(|&(_, origin)| unsafe { *origin & ORIGIN_MASK == 0 })
    }

    /// The value of a flag of type ccstr or ccstrlist, which may have none.
    fn text(&self, name: &str) -> Option<String> {
        let (value, _) = self.find_flag(name)?;
        // SAFETY: only ARCHIVING's flags, CompileOnly and those of compilers' commands are asked for, each a pointer to a
        // terminated string or null (globals.hpp, compiler_globals.hpp, cds_globals.hpp).
        unsafe {
            let text = *value.cast::<*const c_char>();
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    }

    fn is_set(&self, name: &str) -> bool {
        // SAFETY: only ARCHIVING_ON_REQUEST, OTHER_COMPILER and COMPILERS are asked for, one byte each (globals.hpp,
        // jvmci_globals.hpp).
        self.find_flag(name).is_some_and(|(value, _)| unsafe { *value != 0 })
    }

    fn set_bool(&self, name: &str, value: bool) -> bool {
        let Some(at) = self.claim(name) else { return false };
        // SAFETY: SWITCHES and ENDLESS name flags of type bool only, one byte each (globals.hpp).
        unsafe { *at = value.into() };
        true
    }

    /// Sets a flag of type bool to false, unless the user has set it. The VM, which may yet choose a default for this processor,
    /// takes it for the user's.
    fn clear_if_default(&self, name: &str) {
        let Some((value, origin)) = self.find_default(name) else { return };
        // SAFETY: SPILLING is of type bool, one byte (c2_globals.hpp); the rest as in find_flag.
        unsafe {
            *value = 0;
            *origin |= COMMAND_LINE;
        }
    }

    /// Multiplies a flag of type intx by `by / over`, unless the user has set it.
    fn scale_if_default(&self, name: &str, by: isize, over: isize) {
        let Some((value, _)) = self.find_default(name) else { return };
        // SAFETY: the flags that are scaled are of type intx, of pointer size (globals.hpp).
        unsafe {
            let value = value.cast::<isize>();
            *value = *value * by / over;
        }
    }

    fn add_to_list(&self, name: &str, more: &str) -> bool {
        let Some(at) = self.claim(name) else { return false };
        // SAFETY: DisableIntrinsic is a ccstrlist: a char pointer, null or a terminated string. The new value is never freed,
        // as it belongs to the VM from here on.
        unsafe {
            let at = at.cast::<*const c_char>();
            let old = if (*at).is_null() { String::new() } else { CStr::from_ptr(*at).to_string_lossy().into_owned() };
            let whole = if old.is_empty() { more.to_owned() } else { format!("{old},{more}") };
            let Ok(whole) = CString::new(whole) else { return false };
            *at = whole.into_raw();
        }
        true
    }
}
