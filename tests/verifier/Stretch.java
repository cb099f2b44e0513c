import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
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
 * Stretches methods with nops until their longest jumps just reach: woven, with what cprof adds, they do not reach any more.
 *
 * <p>{@code Stretch <out.jar> <every> <jar>...}: of every so-manieth class of the jars, its methods with jumps; classes without
 * any are left out.
 */
public final class Stretch {
    /** The largest offset of a jump (JVMS 6.5, goto). */
    private static final int REACH = 32_767;
    /** How much shorter some are left, so that some jumps reach and some do not. */
    private static final int VARIETY = 400;
    /** More is not stretched: a method has at most 65,535 bytes (JVMS 4.7.3), and cprof adds some. */
    private static final int LONGEST = 58_000;

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
        Map<String, Shape> shapes = new HashMap<>();
        reader.accept(new Methods(new ClassWriter(0)) {
            @Override
            MethodVisitor method(String method, MethodVisitor to) {
                Shape shape = new Shape(to);
                shapes.put(method, shape);
                return shape;
            }
        }, 0);
        shapes.forEach((method, shape) -> shape.choose(REACH - Math.floorMod(method.hashCode(), VARIETY)));
        shapes.values().removeIf(shape -> shape.each == 0);
        if (shapes.isEmpty()) {
            return null;
        }
        methods += shapes.size();
        ClassWriter writer = new ClassWriter(0);
        reader.accept(new Methods(writer) {
            @Override
            MethodVisitor method(String method, MethodVisitor to) {
                Shape shape = shapes.get(method);
                return shape == null ? to : new Instructions(to) {
                    @Override
                    void instruction() {
                        int nops = shape.each + (instructions == shape.place ? shape.rest : 0);
                        for (int i = 0; i < nops; i++) {
                            mv.visitInsn(Opcodes.NOP);
                        }
                    }
                };
            }
        }, 0);
        return writer.toByteArray();
    }

    /** Finds a method's longest jump. */
    private static final class Shape extends Instructions {
        private final Map<Label, Integer> labels = new HashMap<>();
        private final List<Jump> jumps = new ArrayList<>();
        private final Label end = new Label();
        /** How many nops go with each instruction; 0: the method stays as it is. */
        int each;
        /** With which instruction more nops go, and how many. */
        int place;
        int rest;

        Shape(MethodVisitor to) {
            super(to);
        }

        /** Chooses how many nops make the longest jump so long. */
        void choose(int length) {
            Jump longest = null;
            for (Jump jump : jumps) {
                if (longest == null || instructionsOf(jump) > instructionsOf(longest)) {
                    longest = jump;
                }
            }
            if (longest == null || instructionsOf(longest) == 0) {
                return;
            }
            int missing = length - Math.abs(longest.to().getOffset() - longest.from().getOffset());
            each = Math.max(0, missing / instructionsOf(longest));
            rest = missing % instructionsOf(longest);
            place = Math.min(longest.instruction(), labels.get(longest.to())) + 1;
            if (end.getOffset() + instructions * each + rest > LONGEST) {
                each = 0;
            }
        }

        private int instructionsOf(Jump jump) {
            return Math.abs(labels.get(jump.to()) - jump.instruction());
        }

        @Override
        public void visitLabel(Label label) {
            labels.put(label, instructions);
            super.visitLabel(label);
        }

        @Override
        public void visitJumpInsn(int opcode, Label label) {
            Jump jump = new Jump(instructions, new Label(), label);
            jumps.add(jump);
            mv.visitLabel(jump.from());
            super.visitJumpInsn(opcode, label);
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            mv.visitLabel(end);
            super.visitMaxs(stack, locals);
        }
    }

    /** A jump behind so many instructions. */
    private record Jump(int instruction, Label from, Label to) {}

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
    private static class Instructions extends MethodVisitor {
        /** How many there were. */
        int instructions;

        Instructions(MethodVisitor to) {
            super(Opcodes.ASM9, to);
        }

        /** There is one. */
        void instruction() {}

        private void count() {
            instructions++;
            instruction();
        }

        @Override
        public void visitInsn(int opcode) {
            count();
            super.visitInsn(opcode);
        }

        @Override
        public void visitVarInsn(int opcode, int local) {
            count();
            super.visitVarInsn(opcode, local);
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            super.visitTypeInsn(opcode, type);
            // After it: frames name a new by its position.
            count();
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            count();
            super.visitFieldInsn(opcode, owner, name, descriptor);
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            count();
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
        }
    }
}
