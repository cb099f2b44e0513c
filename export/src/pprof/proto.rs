//! The messages of pprof's profile.proto that are used here. Texts are positions in [`Profile::string_table`].

use prost::Message;

/// The whole file.
#[derive(Clone, PartialEq, Message)]
pub struct Profile {
    /// What [`Sample::value`] counts.
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    /// Stacks with their numbers.
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    /// What functions come from.
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    /// Places that samples refer to.
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    /// Methods.
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// All texts; the first is empty.
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    /// Start, nanoseconds since 1970 UTC.
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    /// Length in nanoseconds.
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    /// Remarks.
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
    /// The type of sample to show first.
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
}

/// A metric.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct ValueType {
    /// Its name.
    #[prost(int64, tag = "1")]
    pub r#type: i64,
    /// Its unit.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// A stack.
#[derive(Clone, PartialEq, Message)]
pub struct Sample {
    /// Ids of locations, the top of the stack first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// One per sample type.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    /// The thread.
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// A remark on a sample.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Label {
    /// Its name.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// A text.
    #[prost(int64, tag = "2")]
    pub str: i64,
    /// Or a number.
    #[prost(int64, tag = "3")]
    pub num: i64,
}

/// What would be a file of machine code.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Mapping {
    /// Not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// The program.
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// Nothing is to be looked up: functions
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    /// files
    #[prost(bool, tag = "8")]
    pub has_filenames: bool,
    /// and lines are there.
    #[prost(bool, tag = "9")]
    pub has_line_numbers: bool,
}

/// A line of a method.
#[derive(Clone, PartialEq, Message)]
pub struct Location {
    /// Not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Of the one mapping.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// One: nothing is inlined.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
}

/// Where a location is.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Line {
    /// The method.
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    /// 0 when unknown.
    #[prost(int64, tag = "2")]
    pub line: i64,
}

/// A method.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Function {
    /// Not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// For people.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// For machines.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// Its source file.
    #[prost(int64, tag = "4")]
    pub filename: i64,
    /// Its first line.
    #[prost(int64, tag = "5")]
    pub start_line: i64,
}
