//! The columns of each table, in Parquet's own notation. `docs/fleet.md` says what is in them.

/// Version of the tables, in the metadata of every file under `cprof.tables` and in the table `runs`. Columns may be added within
/// a version; what is there keeps its meaning.
pub const VERSION: i32 = 1;

/// Every table's columns.
pub const MESSAGES: [&str; 5] = [
    "message runs {
  required binary run_id (string);
  required int32 tables_version;
  required binary file (string);
  required int32 merged_runs;
  required binary main_class (string);
  required binary command_line (string);
  required binary jvm_vendor (string);
  required binary jvm_version (string);
  required binary cprof_version (string);
  required binary options (string);
  required binary target (string);
  required int64 pid;
  required int64 started (timestamp(millis,true));
  optional int64 ended (timestamp(millis,true));
  required binary taken (string);
  required int64 lost_calls;
  required boolean folded;
  required boolean bounded;
  required boolean sites;
  required int32 gaps;
  required int32 warnings;
  optional binary part (string);
}",
    "message methods {
  required binary run_id (string);
  required int64 method_id;
  required binary class (string);
  required binary method (string);
  required binary descriptor (string);
  optional binary source_file (string);
  required boolean native;
  optional int32 access;
  optional binary level (string);
  required int64 calls;
  required int64 exceptional_exits;
  required int64 bytecodes;
  required int64 bytecodes_total;
}",
    "message nodes {
  required binary run_id (string);
  required int64 node_id;
  optional int64 parent_id;
  required int64 context;
  required int32 depth;
  required binary thread (string);
  optional int64 method_id;
  optional int32 site;
  optional int32 line;
  required int64 calls;
  required int64 exceptional_exits;
  required int64 bytecodes;
  required int64 bytecodes_total;
}",
    "message metrics {
  required binary run_id (string);
  required int64 node_id;
  required binary metric (string);
  optional binary target (string);
  required binary cache (string);
  required int64 value;
}",
    "message blocks {
  required binary run_id (string);
  required int64 method_id;
  required int32 code;
  required int32 block;
  required int32 start_bci;
  required int32 end_bci;
  optional int32 line;
  required int64 executions;
  required int64 bytecodes;
}",
];

/// The columns of a table.
pub fn message(table: &str) -> Option<&'static str> {
    let of = |message: &&&str| message.split_whitespace().nth(1) == Some(table);
    MESSAGES.iter().find(of).copied()
}
