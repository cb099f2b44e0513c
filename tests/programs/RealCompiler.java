// Shows: a real program: javac compiles a class in memory; its parser and its code generator are counted.
// alone
// needs: jdk.compiler
// timing: java. jdk. sun.
// only: com.sun.tools.javac.parser.JavacParser.parseCompilationUnit
// roots: com.sun.tools.javac.jvm.Gen.genClass
import java.net.URI;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

class RealCompiler {
    static final String SOURCE = """
        import java.util.*;
        class Demo<T extends Comparable<T>> {
            private final List<T> items = new ArrayList<>();
            enum Kind { SMALL, LARGE }
            T best(T[] from, int limit) throws Exception {
                T best = null;
                outer:
                for (T t : from) {
                    if (t == null) continue outer;
                    try {
                        if (best == null || t.compareTo(best) > 0) best = t;
                        items.add(t);
                    } catch (RuntimeException e) {
                        throw new Exception("bad " + t, e);
                    } finally {
                        limit--;
                    }
                    switch (items.size() > 3 ? Kind.LARGE : Kind.SMALL) {
                        case SMALL: continue;
                        case LARGE: if (limit < 0) break outer;
                    }
                }
                Runnable r = () -> items.clear();
                r.run();
                return best;
            }
            static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
        }
        """;

    public static void main(String[] args) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        JavaFileObject source = new SimpleJavaFileObject(URI.create("string:///Demo.java"), JavaFileObject.Kind.SOURCE) {
            @Override
            public CharSequence getCharContent(boolean ignoreEncodingErrors) {
                return SOURCE;
            }
        };
        java.nio.file.Path out = java.nio.file.Files.createTempDirectory("compiled");
        boolean done = compiler.getTask(null, null, null, List.of("-proc:none", "-d", out.toString()), null, List.of(source)).call();
        long size = 0;
        try (var files = java.nio.file.Files.list(out)) {
            for (var file : files.sorted().toList()) {
                size += java.nio.file.Files.size(file);
                java.nio.file.Files.delete(file);
            }
        }
        java.nio.file.Files.delete(out);
        System.out.println("RealCompiler " + done + " " + (size > 1000));
    }
}
