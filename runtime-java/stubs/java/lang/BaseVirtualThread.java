package java.lang;

/** Only so that the runtime compiles on JDK 17, which has no such class; never shipped, never loaded. */
abstract class BaseVirtualThread extends Thread {}
