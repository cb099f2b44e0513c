package linearscan;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * A Java agent that looks every method up in {@link Cache}, when it is entered and when a call it made returns; the JDK's
 * methods too, as far as agents of this kind see them (no lambdas, no calls that the compilers replace by intrinsics).
 */
public final class Weaver implements ClassFileTransformer {
    /** The newest class files that this ASM reads; those of a later JDK's own classes are no different. */
    private static final int NEWEST = Opcodes.V23;

    private final AtomicInteger methods = new AtomicInteger();
    private final AtomicInteger failed = new AtomicInteger();

    public static void premain(String arguments, Instrumentation vm) throws Exception {
        Module cache = Cache.class.getModule();
        for (Module module : ModuleLayer.boot().modules()) {
            vm.redefineModule(module, Set.of(cache), Map.of(), Map.of(), Set.of(), Map.of());
        }
        Weaver weaver = new Weaver();
        // Loads what weaving needs, so that no class is loaded for the sake of another that is being woven.
        try (var sample = Weaver.class.getResourceAsStream("Weaver.class")) {
            weaver.woven(sample.readAllBytes());
        }
        vm.addTransformer(weaver, true);
        weaver.weaveLoaded(vm);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.err.println("linear scan: " + weaver.methods + " methods, "
            + weaver.failed + " classes left as they were, " + Cache.lookups + " lookups, " + Cache.misses + " misses")));
    }

    private void weaveLoaded(Instrumentation vm) throws UnmodifiableClassException {
        List<Class<?>> loaded = new ArrayList<>();
        for (Class<?> each : vm.getAllLoadedClasses()) {
            if (vm.isModifiableClass(each) && !each.isHidden() && isWoven(each.getName().replace('.', '/'))) loaded.add(each);
        }
        vm.retransformClasses(loaded.toArray(Class<?>[]::new));
    }

    private static boolean isWoven(String name) {
        // The current thread changes in the middle of the last two's methods.
        return !name.startsWith("linearscan/") && !name.equals("java/lang/VirtualThread") && !name.equals("jdk/internal/vm/Continuation");
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (name == null || !isWoven(name)) return null;
        try {
            return woven(bytes);
        } catch (RuntimeException e) {
            // Too large with the calls, or nothing ASM can read.
            failed.incrementAndGet();
            return null;
        }
    }

    private byte[] woven(byte[] original) {
        byte[] bytes = original.clone();
        if (bytes[7] > NEWEST) bytes[7] = NEWEST;
        ClassReader reader = new ClassReader(bytes);
        ClassWriter writer = new ClassWriter(reader, 0);
        reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
                MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
                // An empty Object.finalize must stay empty: HotSpot would make every class finalizable.
                boolean left = (access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) != 0 || name.equals("finalize");
                return left ? next : new Calls(next, methods.incrementAndGet());
            }
        }, 0);
        byte[] result = writer.toByteArray();
        result[7] = original[7];
        return result;
    }

    /** Inserts the lookups into a method; adds its instructions' lengths up, roughly (what takes 2 to 5 bytes counts 3). */
    private static final class Calls extends MethodVisitor {
        private final int method;

        Calls(MethodVisitor next, int method) {
            super(Opcodes.ASM9, next);
            this.method = method;
        }

        private void look() {
            super.visitLdcInsn(method);
            super.visitMethodInsn(Opcodes.INVOKESTATIC, "linearscan/Cache", "look", "(I)V", false);
        }

        private void length(int bytes) {
            Cache.CODE_LENGTH[method] += bytes;
        }

        @Override
        public void visitCode() {
            super.visitCode();
            look();
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
            super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
            length(opcode == Opcodes.INVOKEINTERFACE ? 5 : 3);
            look();
        }

        @Override
        public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
            super.visitInvokeDynamicInsn(name, descriptor, bootstrap, arguments);
            length(5);
            look();
        }

        @Override
        public void visitInsn(int opcode) {
            super.visitInsn(opcode);
            length(1);
        }

        @Override
        public void visitVarInsn(int opcode, int local) {
            super.visitVarInsn(opcode, local);
            length(local < 4 ? 1 : 2);
        }

        @Override
        public void visitIntInsn(int opcode, int operand) {
            super.visitIntInsn(opcode, operand);
            length(opcode == Opcodes.SIPUSH ? 3 : 2);
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String name, String descriptor) {
            super.visitFieldInsn(opcode, owner, name, descriptor);
            length(3);
        }

        @Override
        public void visitTypeInsn(int opcode, String type) {
            super.visitTypeInsn(opcode, type);
            length(3);
        }

        @Override
        public void visitJumpInsn(int opcode, Label label) {
            super.visitJumpInsn(opcode, label);
            length(3);
        }

        @Override
        public void visitIincInsn(int local, int increment) {
            super.visitIincInsn(local, increment);
            length(3);
        }

        @Override
        public void visitLdcInsn(Object value) {
            super.visitLdcInsn(value);
            length(2);
        }

        @Override
        public void visitMaxs(int stack, int locals) {
            super.visitMaxs(stack + 1, locals);
        }
    }
}
