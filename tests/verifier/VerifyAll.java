import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Links every class of this JDK, or of jars, and so has the verifier read it; initialises none.
 *
 * <p>{@code VerifyAll <report> jdk | <jar>... [-- <jar>...]}: those after {@code --} are only there to be found by the others.
 * Writes to the report, sorted, a line for every class that cannot be loaded or linked: kind of error, class, and the verifier's
 * first line if it was the one to refuse. Prints the number of classes linked and not linked. A class that does not link in an
 * untouched JVM either (an optional dependency is missing) shows in the report of a run without cprof; only differences count.
 *
 * <p>Linking without initialising: {@code Class.getDeclaredFields} links first (jvm.cpp, JVM_GetClassDeclaredFields:
 * "Ensure class is linked").
 */
public final class VerifyAll {
    private final List<String> failures = new ArrayList<>();
    private int linked;

    private VerifyAll() {}

    public static void main(String[] args) throws IOException {
        VerifyAll run = new VerifyAll();
        if (args.length == 2 && args[1].equals("jdk")) {
            run.image();
        } else {
            // While a jar is open somewhere, its table is not read again for the next loader.
            List<JarFile> open = new ArrayList<>();
            for (int i = 1; i < args.length; i++) {
                if (!args[i].equals("--")) {
                    open.add(new JarFile(args[i]));
                }
            }
            for (int i = 1; i < args.length && !args[i].equals("--"); i++) {
                run.jar(args, i);
            }
            for (JarFile jar : open) {
                jar.close();
            }
        }
        Collections.sort(run.failures);
        try (PrintStream report = new PrintStream(args[0], StandardCharsets.UTF_8)) {
            run.failures.forEach(report::println);
        }
        System.out.println("linked " + run.linked + ", not linked " + run.failures.size());
    }

    private void image() throws IOException {
        Path modules = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules");
        List<Path> files;
        try (Stream<Path> all = Files.walk(modules)) {
            files = all.filter(file -> file.toString().endsWith(".class")).sorted().collect(Collectors.toList());
        }
        for (Path file : files) {
            // /modules/<module>/<package>/<Class>.class
            Path inModule = file.subpath(2, file.getNameCount());
            link(inModule.toString(), ClassLoader.getSystemClassLoader());
        }
    }

    /** One jar in a class loader of its own, with the other jars behind it. */
    private void jar(String[] args, int which) throws IOException {
        List<URL> path = new ArrayList<>();
        path.add(url(args[which]));
        for (int i = 1; i < args.length; i++) {
            if (i != which && !args[i].equals("--")) {
                path.add(url(args[i]));
            }
        }
        try (URLClassLoader loader = new URLClassLoader(path.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
                JarFile jar = new JarFile(args[which])) {
            List<String> names = jar.stream().map(JarEntry::getName).sorted().collect(Collectors.toList());
            for (String name : names) {
                if (name.endsWith(".class") && !name.startsWith("META-INF/")) {
                    link(name, loader);
                }
            }
        }
    }

    private static URL url(String file) throws MalformedURLException {
        return new File(file).toURI().toURL();
    }

    private void link(String file, ClassLoader loader) {
        if (file.endsWith("module-info.class")) {
            return;
        }
        String name = file.substring(0, file.length() - ".class".length()).replace('/', '.');
        try {
            Class.forName(name, false, loader).getDeclaredFields();
            linked++;
        } catch (ClassNotFoundException | LinkageError | SecurityException | TypeNotPresentException e) {
            // Of several missing classes any may be named first, so only the verifier's own words are comparable.
            boolean refused = e instanceof VerifyError || e instanceof ClassFormatError;
            String message = refused ? " " + String.valueOf(e.getMessage()).split("\n", 2)[0] : "";
            failures.add(e.getClass().getSimpleName() + " " + name + message);
        }
    }
}
