package kernels;

/** One benchmark: the same work, and so the same counts and checksum, on every call. */
interface Kernel {
    /** Does one iteration's work and answers a checksum of its result. */
    long run();
}
