//! Class loaders, told apart by tags, as their names need not differ.

use crate::jni::Jni;
use crate::jvmti::{Jvmti, class_name};
use crate::lock;
use jni_sys::jobject;
use std::sync::Mutex;

/// Names of the JDK's own loaders.
pub(super) const APP_LOADER: &str = "app";
pub(super) const PLATFORM_LOADER: &str = "platform";

/// The names of the loaders seen so far; a loader's tag is its place here, from 1 on.
#[derive(Default)]
pub(super) struct Loaders(Mutex<Vec<String>>);

impl Loaders {
    /// A loader's tag and name; 0 and nothing for the boot loader.
    pub(super) fn tag_and_name(&self, jvmti: Jvmti, jni: Option<Jni>, loader: jobject) -> (i64, String) {
        let Some(jni) = jni.filter(|_| !loader.is_null()) else { return (0, String::new()) };
        let mut names = lock(&self.0);
        match jvmti.tag(loader) {
            Ok(tag) if tag > 0 => (tag, names.get(tag as usize - 1).cloned().unwrap_or_default()),
            _ => {
                let tag = names.len() as i64 + 1;
                let class = jni.class_of(loader);
                let signature = jvmti.class_signature(class).unwrap_or_default();
                jni.forget(class);
                let class = class_name(&signature).replace('/', ".");
                let name = match class.as_str() {
                    "jdk.internal.loader.ClassLoaders$AppClassLoader" => APP_LOADER.to_owned(),
                    "jdk.internal.loader.ClassLoaders$PlatformClassLoader" => PLATFORM_LOADER.to_owned(),
                    _ => format!("{class}@{tag}"),
                };
                names.push(name.clone());
                // Without a tag the loader gets a new name for each class, which only costs clarity.
                let _ = jvmti.set_tag(loader, tag);
                (tag, name)
            }
        }
    }
}
