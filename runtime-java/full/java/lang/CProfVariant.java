package java.lang;

/** Which of the two compilations of the runtime this is. The compiler copies the constant to where it is used: this class is never loaded. */
final class CProfVariant {
    private CProfVariant() {}

    /** Every option is looked at when the code runs. */
    static final boolean SIMPLE = false;
}
