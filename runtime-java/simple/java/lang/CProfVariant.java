package java.lang;

/** Which of the two compilations of the runtime this is. The compiler copies the constant to where it is used: this class is never loaded. */
final class CProfVariant {
    private CProfVariant() {}

    /** Contexts are in fields of Thread, call sites are merged, no method caches are simulated: what other runs need is compiled away. */
    static final boolean SIMPLE = true;
}
