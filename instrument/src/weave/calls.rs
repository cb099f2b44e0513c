//! The calls of the runtime that woven code makes.

use crate::abi::call;

macro_rules! calls {
    ($($name:ident = $signature:expr,)*) => {
        /// A call of the runtime.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Call {
            $($name,)*
        }

        impl Call {
            /// Every call, each at the place of its number.
            pub(super) const ALL: &[Call] = &[$(Call::$name,)*];

            /// Name and descriptor.
            pub(super) fn signature(self) -> (&'static str, &'static str) {
                match self {
                    $(Call::$name => $signature,)*
                }
            }
        }
    };
}

calls! {
    Current = call::CURRENT,
    Enter = call::ENTER,
    EnterRoot = call::ENTER_ROOT,
    Leaf = call::LEAF,
    LeafRoot = call::LEAF_ROOT,
    Leave = call::LEAVE,
    Ret = call::RET,
    Unwind = call::UNWIND,
    UnwindConstructor = call::UNWIND_CONSTRUCTOR,
    Caught = call::CAUGHT,
    Count = call::COUNT,
    Site = call::SITE,
    Start = call::START,
    End = call::END,
    Count1 = ("count1", "(J)V"),
    Count2 = ("count2", "(J)V"),
    Count3 = ("count3", "(J)V"),
    Count4 = ("count4", "(J)V"),
    Count5 = ("count5", "(J)V"),
    Count6 = ("count6", "(J)V"),
    Count7 = ("count7", "(J)V"),
    Count8 = ("count8", "(J)V"),
    Count9 = ("count9", "(J)V"),
    Count10 = ("count10", "(J)V"),
    Count11 = ("count11", "(J)V"),
    Count12 = ("count12", "(J)V"),
}

// The last of them: see `Call::count`.
const _: () = assert!(Call::ALL.len() == Call::Count1 as usize + call::COUNT_FIXED as usize);

impl Call {
    /// The one that adds 1 to this counter, which is not counter 0, if it has one of its own.
    pub(super) fn count(counter: u16) -> Option<Call> {
        Call::ALL.get(Call::Count1 as usize + usize::from(counter) - 1).copied()
    }
}
