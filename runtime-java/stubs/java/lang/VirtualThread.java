package java.lang;

/** Only so that the runtime compiles on JDK 17, which has no such class; never shipped, never loaded. */
final class VirtualThread extends BaseVirtualThread {
    private VirtualThread() {}
}
