import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Stretches methods with nops to just what jumps reach: woven, with what cprof adds, many of their jumps do not reach any more.
 *
 * <p>{@code Stretch <out.jar> <every> <jar>...}: of every so-manieth class of the jars, its methods with jumps or handlers; the others are left out.
 */
public final class Stretch {
    /** The largest offset of a jump (JVMS 6.5, goto). */
    private static final int REACH = 32_767;
    /** How much shorter some methods are left, so that some jumps reach and some do not. */
    private static final int VARIETY = 4_000;

    private final Set<String> seen = new HashSet<>();
    private int methods;
    private int classes;

    private Stretch() {}

    public static void main(String[] args) throws IOException {
        Stretch run = new Stretch();
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(Path.of(args[0])))) {
            for (int i = 2; i < args.length; i++) {
                run.jar(args[i], Integer.parseInt(args[1]), out);
            }
        }
        System.out.println("stretched " + run.methods + " methods of " + run.classes + " classes");
    }

    private void jar(String file, int every, JarOutputStream out) throws IOException {
        try (JarFile jar = new JarFile(file)) {
            for (JarEntry entry : Collections.list(jar.entries())) {
                String name = entry.getName();
                boolean skipped = !name.endsWith(".class") || name.startsWith("META-INF/") || name.endsWith("module-info.class");
                // By name, so that a class is chosen or not whatever jars there are.
                if (skipped || Math.floorMod(name.hashCode(), every) != 0 || !seen.add(name)) {
                    continue;
                }
                byte[] stretched;
                try (InputStream in = jar.getInputStream(entry)) {
                    stretched = stretched(in.readAllBytes());
                }
                if (stretched != null) {
                    classes++;
                    out.putNextEntry(new JarEntry(name));
                    out.write(stretched);
                    out.closeEntry();
                }
            }
        }
    }

    /** The class with its methods stretched; null when there are none to stretch. */
    private byte[] stretched(byte[] bytes) {
        ClassReader reader = new ClassReader(bytes);
        Map<String, Integer> nops = nops(reader);
        if (nops.isEmpty()) {
            return null;
        }
        methods += nops.size();
        ClassWriter writer = new ClassWriter(0);
        reader.accept(new Methods(writer) {
            @Override
            MethodVisitor method(String method, MethodVisitor to) {
                int each = nops.getOrDefault(method, 0);
                return new Instructions(to) {
                    @Override
                    void instruction() {
                        for (int i = 0; i < each; i++) {
                            mv.visitInsn(Opcodes.NOP);
                        }
                    }
                };
            }
        }, 0);
        return writer.toByteArray();
    }

    /** How many nops go with each instruction of each method that is to be stretched. */
    private static Map<String, Integer> nops(ClassReader reader) {
        Map<String, Label> ends = new HashMap<>();
        Map<String, Integer> instructions = new HashMap<>();
        Set<String> jumping = new HashSet<>();
        ClassWriter layout = new ClassWriter(0);
        reader.accept(new Methods(layout) {
            @Override
            MethodVisitor method(String method, MethodVisitor to) {
                return new Instructions(to) {
                    @Override
                    void instruction() {
                        instructions.merge(method, 1, Integer::sum);
                    }

                    @Override
                    public void visitJumpInsn(int opcode, Label label) {
                        jumping.add(method);
                        super.visitJumpInsn(opcode, label);
                    }

                    @Override
                    public void visitMaxs(int stack, int locals) {
                        Label end = new Label();
                        visitLabel(end);
                        ends.put(method, end);
                        super.visitMaxs(stack, locals);
                    }
                };
            }
        }, 0);
        Map<String, Integer> nops = new HashMap<>();
        for (String method : jumping) {
            int length = REACH - Math.floorMod(method.hashCode(), VARIETY);
            int each = (length - ends.get(method).getOffset()) / instructions.getOrDefault(method, length);
            if (each > 0) {
                nops.put(method, each);
            }
        }
        return nops;
    }

    /** Visits the methods of a class and copies the rest. */
    private abstract static class Methods extends ClassVisitor {
        Methods(ClassVisitor to) {
            super(Opcodes.ASM9, to);
        }

        abstract MethodVisitor method(String method, MethodVisitor to);

        @Override
        public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
            return method(name + descriptor, super.visitMethod(access, name, descriptor, signature, exceptions));
        }
    }

    /** Says where the most frequent instructions are. */
    private abstract static class Instructions extends MethodVisitor {
        Instructions(MethodVisitor to) {
            super(Opcodes.ASM9, to);
        }

        abstract void instruction();

        @Override
        public void visitInsn(int opcode) {
            instruction();
            super.visitInsn(opcode);
        }

        @Override
        public void visitVarInsn(int opcode, int local) {
            instruction();
            super.visitVarInsn(opcode, local);
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            super.visitTypeInsn(opcode, type);
            // After it: frames name a new by its position.
            instruction();
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            instruction();
            super.visitFieldInsn(opcode, owner, name, descriptor);
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            instruction();
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
        }
    }
}
