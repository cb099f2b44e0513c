package cprof;

/** What the agent puts in the place of the public {@code cprof.CProf}: the same methods, connected to the runtime. */
public final class CProf {
    private CProf() {}

    public static boolean snapshot(String path) {
        return java.lang.CProfRuntime.snapshot(path);
    }

    public static void pause() {
        java.lang.CProfRuntime.pause();
    }

    public static void resume() {
        java.lang.CProfRuntime.resume();
    }

    public static long bytecodes(String method) {
        return java.lang.CProfRuntime.bytecodes(method);
    }
}
