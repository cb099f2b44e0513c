package jdk.internal.vm;

/** Only so that the runtime compiles on JDK 17, which has no such class; never shipped, never loaded. */
public class Continuation {}
